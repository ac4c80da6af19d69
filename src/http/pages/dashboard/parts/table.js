/** A table which on a narrow screen becomes a list of cards. */

import { h } from "./html.js";

/** @typedef {import("./html.js").Content} Content */
/** @typedef {import("./html.js").Description} Description */
/**
 * @typedef {{ name: string, number?: boolean, hidden?: boolean, wide?: boolean }} Column
 *   `hidden`: its name is for screen readers only; `wide`: on a narrow screen it has a line of its own
 */
/** @typedef {{ key: string, cells: readonly Content[] }} Row */

/** What rows were last described as: the same row has the same description, which need not be compared. @type {WeakMap<Row, Description>} */
const described = new WeakMap();

/**
 * @template T
 * @param {string} caption for screen readers
 * @param {readonly Column[]} columns
 * @param {readonly T[]} items
 * @param {(item: T) => Row} rowOf
 */
export function table(caption, columns, items, rowOf) {
  return h(
    "table",
    { role: "table", key: `table ${caption}` },
    h("caption", { class: "unseen" }, caption),
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        columns.map(({ name, number, hidden }) =>
          h(
            "th",
            { role: "columnheader", scope: "col", key: name, class: number ? "number" : null },
            hidden ? h("span", { class: "unseen" }, name) : name,
          ),
        ),
      ),
    ),
    h(
      "tbody",
      { role: "rowgroup" },
      items.map((item) => {
        const row = rowOf(item);
        const before = described.get(row);
        if (before) return before;
        const made = rowElement(columns, row);
        described.set(row, made);
        return made;
      }),
    ),
  );
}

/** @param {readonly Column[]} columns @param {Row} row */
const rowElement = (columns, { key, cells }) =>
  h(
    "tr",
    { role: "row", key },
    columns.map(({ name, number, hidden, wide }, i) =>
      h(
        "td",
        {
          role: "cell",
          key: name,
          class: [number && "number", wide && "wide", name === "Actions" && "last"].filter(Boolean).join(" ") || null,
          "data-name": hidden || i === 0 ? null : name,
        },
        cells[i],
      ),
    ),
  );
