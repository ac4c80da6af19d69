/** Who has how many tasks in a queue: counted when a person asks, since it reads its lists. */

import { count, counted } from "../../../../../words/numbers.ts";
import { html, useState } from "../../preact.js";
import { paths } from "../address.js";
import { ask } from "../api.js";
import { useDesk } from "../desk.js";
import { row, table } from "../parts/table.js";

/** @typedef {import("../api.js").Callers} Callers */
/** @typedef {import("../api.js").CallerCounts} CallerCounts */

const LISTS = /** @type {const} */ (["waiting", "running", "scheduled", "failed", "dead"]);
const COLUMNS = [
  { name: "Caller", brief: true },
  ...LISTS.map((list) => ({ name: list.slice(0, 1).toUpperCase() + list.slice(1), number: true, brief: true })),
];

/** @param {{ queue: import("../api.js").Queue }} props */
export function ByCaller({ queue }) {
  const desk = useDesk();
  const [known, setKnown] = useState(/** @type {Callers | null} */ (null));
  const load = () =>
    desk.act(async () => {
      setKnown(await ask(`/v1/queues/${encodeURIComponent(queue.name)}/callers`));
      return null;
    });
  return html`
    <details class="folded" onToggle=${(/** @type {Event & { currentTarget: HTMLDetailsElement }} */ event) => event.currentTarget.open && load()}>
      <summary>By caller</summary>
      ${known && shown(queue.name, known)}
    </details>`;
}

/** @param {string} queue @param {Callers} known */
function shown(queue, { items, others, complete }) {
  if (items.length === 0) return html`<p class="hint">It has no tasks.</p>`;
  const rows = items.map((item) => row(item.caller ?? "", COLUMNS, cells(queue, item)));
  return html`
    ${table(`${queue}, by caller`, COLUMNS, rows)}
    <p class="hint">
      A number leads to its tasks, where all that match can be canceled, retried or deleted.
      ${others > 0 && html` There are ${counted(others, "more caller")}.`}
      ${!complete && html` Its lists are long: only their beginnings were counted.`}
    </p>`;
}

/** @param {string} queue @param {CallerCounts} item */
const cells = (queue, item) => [
  item.caller ?? html`<span class="hint">nobody</span>`,
  ...LISTS.map((list) => {
    const number = item[list];
    if (number === 0 || item.caller === null) return count(number);
    const filters = new URLSearchParams({ caller: item.caller, ...(list === "failed" && { state: "failed" }) });
    return html`<a href=${paths.queue(queue, list === "failed" ? "finished" : list, filters)}>${count(number)}</a>`;
  }),
];
