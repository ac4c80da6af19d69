/** A table, which becomes a list of cards on a narrow screen. */

import { html } from "../../preact.js";

/** @typedef {import("../../preact.js").Content} Content */
/**
 * @typedef {{ name: string, number?: boolean, hidden?: boolean, wide?: boolean }} Column
 *   `hidden`: its name is for screen readers only; `wide`: on a narrow screen it has a line of its own
 */

/**
 * @param {string} caption for screen readers
 * @param {readonly Column[]} columns
 * @param {Content} rows
 */
export const table = (caption, columns, rows) => html`
  <table role="table" key="table ${caption}">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map(
          ({ name, number, hidden }) => html`
            <th role="columnheader" scope="col" key=${name} class=${number ? "number" : null}>
              ${hidden ? html`<span class="unseen">${name}</span>` : name}
            </th>`,
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">${rows}</tbody>
  </table>`;

/**
 * @param {string} key
 * @param {readonly Column[]} columns
 * @param {readonly Content[]} cells
 */
export const row = (key, columns, cells) => html`
  <tr role="row" key=${key}>
    ${columns.map(({ name, number, hidden, wide }, i) => {
      const kinds = [number && "number", wide && "wide", name === "Actions" && "last"].filter(Boolean).join(" ");
      const told = hidden || i === 0 ? null : name;
      return html`<td role="cell" key=${name} class=${kinds || null} data-name=${told}>${cells[i]}</td>`;
    })}
  </tr>`;
