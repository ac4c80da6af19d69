/** Which tasks of a list are shown: the filters are part of the address. */

import { choose, options } from "../address.js";
import { h } from "../parts/html.js";

/** @typedef {import("./task-list.js").List} List */

/** The states among which a list lets choose. */
const STATES = /** @type {Partial<Record<List, readonly string[]>>} */ ({
  scheduled: ["scheduled", "retrying"],
  finished: ["succeeded", "failed", "canceled"],
});

const AGES = [
  ["", "Any age"],
  ["60", "Older than 1 min"],
  ["600", "Older than 10 min"],
  ["3600", "Older than 1 h"],
  ["86400", "Older than 1 d"],
];

const NAMES = ["state", "caller", "idPrefix", "key", "olderThan"];

/**
 * The filters as the server takes them.
 * @param {List} list
 */
export function queryOf(list) {
  const query = new URLSearchParams();
  for (const name of NAMES) {
    const value = options().get(name);
    if (value && (name !== "state" || STATES[list]?.includes(value))) query.set(name, value);
  }
  return query;
}

/** @param {List} list */
export const isFiltered = (list) => queryOf(list).size > 0;

/** Changes a filter; the pages then begin anew. @param {string} name @param {string} value */
const filter = (name, value) => choose({ [name]: value, cursor: null });

/**
 * @param {List} list
 * @param {import("../server/wire.js").Queue} queue
 */
export function filters(list, queue) {
  const states = STATES[list];
  return h(
    "form",
    {
      class: "filters",

      "aria-label": "Filters",
      onsubmit: (/** @type {Event} */ event) => event.preventDefault(),
    },
    states && choice("state", "State", [["", "Any state"], ...states.map((state) => [state, state])]),
    text("idPrefix", "Id begins with"),
    text("caller", "Caller"),
    (queue.order === "fair" || queue.held !== null) && text("key", "Key"),
    choice("olderThan", "Age", AGES),
    isFiltered(list) &&
      h(
        "button",
        {
          type: "button",
          key: "clear",
          onclick: () => choose({ ...Object.fromEntries(NAMES.map((name) => [name, null])), cursor: null }),
        },
        "Clear",
      ),
  );
}

/**
 * @param {string} name
 * @param {string} label
 */
function text(name, label) {
  return h("input", {
    key: name,
    type: "search",
    name,
    placeholder: label,
    "aria-label": label,
    maxlength: "256",
    spellcheck: "false",
    autocomplete: "off",
    value: options().get(name) ?? "",
    // On Enter, on leaving the field, and when it is cleared.
    onchange: (/** @type {Event} */ event) => filter(name, chosen(event)),
    onsearch: (/** @type {Event} */ event) => filter(name, chosen(event)),
  });
}

/**
 * @param {string} name
 * @param {string} label
 * @param {readonly (readonly string[])[]} choices
 */
function choice(name, label, choices) {
  return h(
    "select",
    {
      key: name,
      name,
      "aria-label": label,
      value: options().get(name) ?? "",
      onchange: (/** @type {Event} */ event) => filter(name, chosen(event)),
    },
    choices.map(([value, text]) => h("option", { value }, text ?? "")),
  );
}

/** @param {Event} event */
function chosen({ target }) {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement ? target.value.trim() : "";
}
