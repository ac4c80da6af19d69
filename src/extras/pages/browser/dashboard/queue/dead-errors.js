/** What the dead tasks of a queue died of, and the actions on those of one error. */

import { count, counted } from "../../../../../words/numbers.ts";
import { html } from "../../preact.js";
import { paths } from "../address.js";
import { Folded } from "../parts/folded.js";
import { ago } from "../parts/format.js";
import { row, table } from "../parts/table.js";

/** @typedef {import("../api.js").DeadErrors} DeadErrors */
/** @typedef {import("../api.js").DeadError} DeadError */

const COLUMNS = [
  { name: "Error", wide: true },
  { name: "Tasks", number: true },
  { name: "First died", number: true },
  { name: "Last died", number: true },
  { name: "Actions", hidden: true },
];

/**
 * @param {string} queue
 * @param {DeadErrors} errors
 * @param {(group: DeadError) => import("../../preact.js").Content} buttons what can be done with those of one error
 */
export function deadErrors(queue, { items, others }, buttons) {
  if (items.length === 0) return null;
  /** @param {DeadError} group */
  const cells = (group) => {
    const { error, code, message, count: number, firstAt, lastAt } = group;
    return [
      html`<span class="error"><${Folded} text=${message || code} />${message !== "" && html` <span class="hint">${code}</span>`}</span>`,
      html`<a class="inline" href=${paths.queue(queue, "dead", new URLSearchParams({ error }))} aria-label="Show ${counted(number, "task")}: ${error}">${count(number)}</a>`,
      ago(firstAt),
      ago(lastAt),
      html`<span class="buttons">${buttons(group)}</span>`,
    ];
  };
  const rows = items.map((group) => row(group.error, COLUMNS, cells(group)));
  return html`
    <section aria-label="Errors">
      ${table(`${queue}, what its dead tasks died of`, COLUMNS, rows)}
      ${others > 0 && html`<p class="hint">${counted(others, "task")} died of further errors.</p>`}
    </section>`;
}
