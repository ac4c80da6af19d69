/** Which tasks of a list are shown: the filters are part of the address. */

import { html, useEffect, useState } from "../../preact.js";
import { choose, options } from "../address.js";

/** @typedef {import("./task-list.js").List} List */

/** The states that a list can be filtered by. */
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

const NAMES = ["state", "text", "caller", "idPrefix", "key", "error", "olderThan"];

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

/** Changes filters, and returns to the first page. @param {Record<string, string | null>} changes */
const filter = (changes) => choose({ ...changes, cursor: null });

/**
 * @param {List} list
 * @param {import("../api.js").Queue} queue
 */
export function filters(list, queue) {
  const states = STATES[list];
  const clear = () => filter(Object.fromEntries(NAMES.map((name) => [name, null])));
  return html`
    <form class="filters" aria-label="Filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      ${states && choice("state", "State", [["", "Any state"], ...states.map((state) => [state, state])])}
      <${Text} name="text" label="Id, label or key" value=${optionOf("text")} />
      <${Text} name="idPrefix" label="Id begins with" value=${optionOf("idPrefix")} />
      <${Text} name="caller" label="Caller" value=${optionOf("caller")} />
      ${(queue.order === "fair" || queue.held !== null) && html`<${Text} name="key" label="Key" value=${optionOf("key")} />`}
      ${optionOf("error") !== "" && html`<${Text} name="error" label="Error" value=${optionOf("error")} />`}
      ${choice("olderThan", "Age", AGES)}
      ${isFiltered(list) && html`<button type="button" onClick=${clear}>Clear</button>`}
    </form>`;
}

/** @param {string} name */
const optionOf = (name) => options().get(name) ?? "";

/** @param {{ name: string, label: string, value: string }} props */
function Text({ name, label, value }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const take = (/** @type {Event} */ event) => filter({ [name]: chosen(event).trim() });
  // On Enter, on leaving the field, and when it is cleared.
  return html`
    <input type="search" name=${name} placeholder=${label} aria-label=${label} maxlength="256" spellcheck=${false} autocomplete="off"
      value=${typed} onInput=${(/** @type {Event} */ event) => setTyped(chosen(event))} onChange=${take} onSearch=${take} />`;
}

/**
 * @param {string} name
 * @param {string} label
 * @param {readonly (readonly string[])[]} choices
 */
const choice = (name, label, choices) => html`
  <select name=${name} aria-label=${label} value=${optionOf(name)}
    onChange=${(/** @type {Event} */ event) => filter({ [name]: chosen(event) })}>
    ${choices.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
  </select>`;

/** @param {Event} event */
function chosen({ target }) {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement ? target.value : "";
}
