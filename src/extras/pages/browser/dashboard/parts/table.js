/** A table, which becomes a list of cards on a narrow screen. */

import { html } from "../../preact.js";

/** @typedef {import("../../preact.js").Content} Content */
/**
 * @typedef {{ name: string, number?: boolean, hidden?: boolean, wide?: boolean, brief?: boolean }} Column
 *   `hidden`: its name is for screen readers only; `wide`: on a narrow screen it has a line of its own; `brief`: on a narrow screen
 *   rows have one line with these columns, and open to the others
 */
/** @typedef {{ by: Column, isDescending: boolean } | null} Order */

/**
 * @param {string} caption for screen readers
 * @param {readonly Column[]} columns
 * @param {Content} rows
 * @param {{ order: Order, onSort: (column: Column) => void, can: (column: Column) => boolean }} [sort]
 */
export const table = (caption, columns, rows, sort) => html`
  <table role="table" key="table ${caption}" class=${columns.some(({ brief }) => brief) ? "folding" : null}>
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map((column) => {
          const { name, hidden } = column;
          const order = sort?.order?.by === column ? (sort.order.isDescending ? "descending" : "ascending") : null;
          return html`
            <th role="columnheader" scope="col" key=${name} class=${kindsOf(column)} aria-sort=${order}>
              ${
                hidden
                  ? html`<span class="unseen">${name}</span>`
                  : sort?.can(column)
                    ? html`<button type="button" class="sort" onClick=${() => sort.onSort(column)}>${name}</button>`
                    : name
              }
            </th>`;
        })}
      </tr>
    </thead>
    <tbody role="rowgroup">${rows}</tbody>
  </table>`;

/** @param {Column} column */
const kindsOf = ({ name, number, wide, brief }) =>
  [number && "number", wide && "wide", brief && "brief", name === "Actions" && "last"].filter(Boolean).join(" ") ||
  null;

/**
 * @param {string} key
 * @param {readonly Column[]} columns
 * @param {readonly Content[]} cells
 * @param {boolean} [isOpen] whether it shows all its columns on a narrow screen
 */
export const row = (key, columns, cells, isOpen = false) => html`
  <tr role="row" key=${key} class=${isOpen ? "open" : null}>
    ${columns.map((column, i) => {
      const told = column.hidden || i === 0 ? null : column.name;
      return html`<td role="cell" key=${column.name} class=${kindsOf(column)} data-name=${told}>${cells[i]}</td>`;
    })}
  </tr>`;
