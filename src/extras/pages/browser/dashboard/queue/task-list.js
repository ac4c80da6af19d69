/** The tasks of a list of a queue, page by page, and the actions on all that match the filters. */

import { count, counted } from "../../../../../words/numbers.ts";
import { quoted, sampleOf } from "../../../../../words/sample.ts";
import { html } from "../../preact.js";
import { prefix } from "../../server.js";
import { choose, options, paths } from "../address.js";
import { ask, key, ServerError, seldom } from "../api.js";
import { useDesk } from "../desk.js";
import { row, table } from "../parts/table.js";
import { useBulk } from "./bulk.js";
import { deadErrors } from "./dead-errors.js";
import { filters, isFiltered, queryOf } from "./filters.js";
import { useSelection } from "./selection.js";
import { columns } from "./task-columns.js";

/** @typedef {"waiting" | "running" | "scheduled" | "dead" | "finished"} List */
/** @typedef {import("../api.js").Queue} Queue */
/**
 * @typedef {import("../api.js").Page & { asked: string, refused: string }} Loaded `refused`: why the server refuses the
 * filter
 */

/** @type {readonly List[]} */
export const LISTS = ["waiting", "running", "scheduled", "dead", "finished"];

const PAGE = 50;

/** @param {List} tab */
const where = (tab) => `${tab}?${queryOf(tab)}&cursor=${options().get("cursor") ?? ""}`;

/**
 * The page of the address.
 * @param {string} queue
 * @param {List} tab
 * @param {AbortSignal} signal
 * @returns {Promise<Loaded>}
 */
export async function loadList(queue, tab, signal) {
  const asked = where(tab);
  const query = queryOf(tab);
  query.set("limit", String(PAGE));
  if (tab === "dead") query.set("order", "newest");
  const cursor = options().get("cursor");
  if (cursor) query.set("cursor", cursor);
  try {
    const page = await ask(`/v1/queues/${encodeURIComponent(queue)}/${tab}?${query}`, { signal });
    return { ...page, asked, refused: "" };
  } catch (error) {
    if (!(error instanceof ServerError) || error.status !== 400) throw error;
    return { items: [], next: null, scanned: 0, asked, refused: error.message };
  }
}

/** How long counted errors count as current while as many tasks are dead, ms: counting reads the whole list. */
const COUNTED_MS = 10_000;

/**
 * What the dead tasks of a queue died of, counted again only if their number has changed, or after a while.
 * @param {string} name
 * @returns {(queue: Queue, tab: List, signal: AbortSignal) => Promise<import("../api.js").DeadErrors | null>} null where they are not shown
 */
export function errorsSeldom(name) {
  let count = seldom("", 0);
  let dead = -1;
  return async (queue, tab, signal) => {
    if (tab !== "dead" || queue.dead === 0 || isFiltered(tab) || options().has("cursor")) return null;
    if (queue.dead !== dead) count = seldom(`/v1/queues/${encodeURIComponent(name)}/dead/errors`, COUNTED_MS);
    dead = queue.dead;
    return count(signal);
  };
}

/** @param {{ tab: List, queue: Queue, page: Loaded | null, errors: import("../api.js").DeadErrors | null }} props */
export function TaskList({ tab, queue, page, errors }) {
  const desk = useDesk();
  const bulk = useBulk(tab, queue);
  const shown = page?.asked === where(tab) ? page : null;
  const selection = useSelection(shown?.items ?? [], where(tab));
  return html`
    <div class="list" key=${tab}>
      <div class="toolbar">${filters(tab, queue)}${bulk.buttons}</div>
      ${bulk.progress}
      ${errors && tab === "dead" && !isFiltered(tab) && deadErrors(queue.name, errors, bulk.buttonsOf)}
      ${selection.results}
      ${selection.bar}
      ${shown === null ? html`<p class="loading">Loading …</p>` : content({ tab, queue, page: shown, box: selection.box, desk })}
      ${shown && pages(tab, queue, shown)}
    </div>`;
}

/** @param {{ tab: List, queue: Queue, page: Loaded, box: Parameters<typeof columns>[2], desk: import("../desk.js").Desk }} parts */
function content({ tab, queue, page, box, desk }) {
  if (page.refused !== "") return html`<p class="empty bad" role="alert">${page.refused}</p>`;
  if (page.items.length === 0) return nothing(tab, queue, page);
  const shown = columns(tab, page.items, box, desk);
  const rows = page.items.map((task) =>
    row(
      task.id,
      shown,
      shown.map(({ cell }) => cell(task)),
    ),
  );
  return table(`${queue.name}, ${tab}`, shown, rows);
}

/**
 * How many tasks were searched, of how many; the number of latest outcomes is not known.
 * @param {List} tab
 * @param {Queue} queue
 * @param {Loaded} page
 */
function looked(tab, queue, { scanned }) {
  const all = tab === "finished" ? 0 : queue[tab];
  return scanned < all ? `${count(scanned)} of ${counted(all, "task")}` : counted(scanned, "task");
}

/**
 * Says which tasks of how many are shown, or how many match so far, as far as that is known.
 * @param {List} tab
 * @param {Queue} queue
 * @param {Loaded} page
 */
function told(tab, queue, page) {
  const { items, next } = page;
  if (items.length === 0) return "";
  const isLater = options().has("cursor");
  if (isFiltered(tab)) {
    const number = `${count(items.length)}${next === null ? "" : "+"}${isLater ? " more" : ""} match`;
    return next !== null && items.length >= PAGE
      ? number
      : `${number}${next === null ? "" : " so far"}: ${looked(tab, queue, page)} were searched`;
  }
  if (tab === "finished")
    return next === null ? counted(items.length, "task") : `${count(items.length)} tasks, and more`;
  const first = isLater ? (items[0]?.index ?? null) : 0;
  const range = first === null ? count(items.length) : `${count(first + 1)}–${count(first + items.length)}`;
  return `${range} of ${counted(Math.max(queue[tab], items.length), "task")}`;
}

/**
 * @param {List} tab
 * @param {Queue} queue
 * @param {Loaded} page
 */
function pages(tab, queue, page) {
  const { items, next } = page;
  const isLater = options().has("cursor");
  if (!isLater && next === null && !isFiltered(tab)) return null;
  const isFull = items.length >= PAGE || !isFiltered(tab);
  const toFirst = () => choose({ cursor: null });
  const toNext = () => choose({ cursor: next }, true);
  return html`
    <nav class="pages" aria-label="Pages">
      <span class="summary">${told(tab, queue, page)}</span>
      ${isLater && html`<button type="button" key="first" onClick=${toFirst}>First page</button>`}
      ${next !== null && html`<button type="button" key="next" onClick=${toNext}>${isFull ? "Next page" : "Search further"}</button>`}
    </nav>`;
}

/**
 * Says why there is nothing, and what to do.
 * @param {List} tab
 * @param {Queue} queue
 * @param {Loaded} page
 */
function nothing(tab, queue, page) {
  if (isFiltered(tab)) {
    const more = options().has("cursor") ? "more " : "";
    const sofar = page.next === null ? "." : " so far.";
    return html`<div class="empty"><p>Nothing ${more}matches among ${looked(tab, queue, page)}${sofar}</p></div>`;
  }
  if (tab !== "waiting" || !queue.actions.includes("submit") || queue.waiting > 0) {
    const texts = {
      waiting: queue.turns ? "Nobody waits." : "No tasks are waiting.",
      running: queue.turns
        ? queue.turns.door
          ? "No request is being served."
          : "Nobody holds a turn."
        : queue.workers === 0 && queue.waiting > 0
          ? "No tasks are running: this queue has no workers. Start one: npx paihao start --role worker"
          : queue.paused
            ? "No tasks are running: the queue is paused. Resume lets them start."
            : "No tasks are running.",
      scheduled: "No tasks are scheduled or waiting to be tried again. A submission with ?delay=60 would be.",
      dead: "No dead tasks: every failed task succeeded when it was tried again, or its handler gave up on it.",
      finished: "No tasks have finished lately. Those that end are listed here for as long as their results are kept.",
    };
    return html`<div class="empty"><p>${texts[tab]}</p></div>`;
  }
  const type = queue.consumes[0] ?? "application/json";
  const body = type.includes("json") ? quoted(JSON.stringify(sampleOf(queue.input ?? {}))) : "@file";
  const input = queue.turns && !queue.input ? "-X POST" : `-H 'Content-Type: ${type}' -d ${body}`;
  const access = key.get() === "" ? "" : ` -H "Authorization: Bearer $PAIHAO_KEY"`;
  const url = `${location.origin}${prefix}/v1/queues/${queue.name}/requests`;
  return html`
    <div class="empty">
      <p>${queue.turns ? "Nobody waits. To take a number" : "No tasks are waiting. To submit one"}, use the form above, or:</p>
      <pre>${`curl ${url}${access} -H 'Prefer: respond-async' ${input}`}</pre>
      <p><a href=${paths.queue(queue.name, "finished")}>Finished tasks</a></p>
    </div>`;
}
