/** Tasks of all queues by a part of their ids, labels or line keys. */

import { count, counted } from "../../../../../words/numbers.ts";
import { html, useMemo } from "../../preact.js";
import { options, paths } from "../address.js";
import { seldom } from "../api.js";
import { ago, state, taskLink } from "../parts/format.js";
import { row, table } from "../parts/table.js";
import { View } from "./view.js";

/** @typedef {import("../api.js").ListedTask} ListedTask */
/** @typedef {import("../api.js").Search} Found */

/** A search reads many tasks, so it is not repeated as often as the page refreshes, ms. */
const EVERY_MS = 60_000;

const COLUMNS = [
  { name: "Task" },
  { name: "Queue" },
  { name: "State" },
  { name: "Key" },
  { name: "Submitted", number: true },
];

export function Search() {
  const text = options().get("text") ?? "";
  const ask = useMemo(() => seldom(`/v1/search?text=${encodeURIComponent(text)}`, EVERY_MS), [text]);
  /** @param {AbortSignal} signal */
  async function load(signal) {
    /** @type {Found} */
    const found = await ask(signal);
    if (found.items[0]?.id === text) {
      history.replaceState(null, "", paths.task(text));
      dispatchEvent(new Event("addresschange"));
    }
    return found;
  }
  return html`
    <${View} title="Search" load=${load}>${(/** @type {Found} */ found) => shown(text, found)}<//>`;
}

/** @param {string} text @param {Found} found */
function shown(text, { items, scanned, complete }) {
  const searched = `${counted(items.length, "task")} found; ${complete ? "all" : "the first"} ${count(scanned)} entries of the lists of queues were searched`;
  return html`
    <div class="head"><h1>${text}</h1><p class="summary">${searched}</p></div>
    ${
      items.length === 0
        ? html`<div class="empty"><p>No id, label or line key of a task contains this. Results and tasks that are no longer kept are not found; a queue's list of finished tasks can be filtered further.</p></div>`
        : table(
            "Tasks found",
            COLUMNS,
            items.map((task) => row(task.id, COLUMNS, cells(task))),
          )
    }
    ${!complete && html`<p class="hint">There may be more: each list of a queue can be searched further by its filters.</p>`}`;
}

/** @param {ListedTask} task */
const cells = (task) => [
  taskLink(task),
  html`<a href=${paths.queue(task.queue, "waiting")}>${task.queue}</a>`,
  state(task),
  task.key ?? "–",
  ago(task.createdAt),
];
