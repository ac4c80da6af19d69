/** What each list of a queue shows of its tasks. */

import { paths } from "../address.js";
import { count, duration, eta, moment, secondsSince } from "../parts/format.js";
import { h } from "../parts/html.js";
import { taskButtons } from "../task/task-actions.js";
import { progress, state } from "../task/task-state.js";

/** @typedef {import("./task-list.js").List} List */
/** @typedef {import("../server/wire.js").ListedTask} ListedTask */
/** @typedef {import("../server/wire.js").Queue} Queue */
/** @typedef {import("../parts/html.js").Content} Content */
/** @typedef {import("../parts/table.js").Column & { cell: (task: ListedTask) => Content }} Shown */

/** @param {string | null} iso */
const time = (iso) => (iso === null ? "–" : h("time", { datetime: iso, title: new Date(iso).toString() }, moment(iso)));
/** @param {string | null} iso */
const since = (iso) => (iso === null ? "–" : duration(Math.round(secondsSince(iso))));

const id = {
  name: "Task",
  cell: (/** @type {ListedTask} */ task) => h("a", { class: "id", href: paths.task(task.id) }, task.id),
};
const place = {
  name: "Place",
  number: true,
  cell: (/** @type {ListedTask} */ { index, held }) => [
    index === null ? "–" : count(index + 1),
    held && h("span", { class: "badge", title: "Waits for a task of the same key to end" }, "held"),
  ],
};
const caller = { name: "Caller", cell: (/** @type {ListedTask} */ task) => task.caller ?? "–" };
const key = { name: "Key", cell: (/** @type {ListedTask} */ task) => task.key ?? "–" };
const attempt = {
  name: "Attempt",
  number: true,
  cell: (/** @type {ListedTask} */ task) => `${task.attempt} of ${task.maxAttempts}`,
};
const error = {
  name: "Error",
  wide: true,
  cell: (/** @type {ListedTask} */ task) => {
    const text = task.errors?.[0] ?? task.error?.message ?? "";
    return text === "" ? "–" : h("span", { class: "clipped", title: text }, text);
  },
};

/** @type {Readonly<Record<List, readonly Shown[]>>} */
const COLUMNS = {
  waiting: [
    id,
    place,
    { name: "Waits for", number: true, cell: (task) => since(task.createdAt) },
    { name: "Starts in", number: true, cell: (task) => eta(task.eta) },
    caller,
    key,
  ],
  running: [
    id,
    { name: "Progress", wide: true, cell: (task) => progress(task) },
    { name: "Runs for", number: true, cell: (task) => since(task.startedAt) },
    attempt,
    { name: "Worker", cell: (task) => task.worker ?? "–" },
    caller,
    key,
  ],
  scheduled: [
    id,
    { name: "State", cell: (task) => state(task) },
    {
      name: "Due",
      number: true,
      cell: (task) => (task.dueAt === null ? "–" : [time(task.dueAt)]),
    },
    {
      name: "In",
      number: true,
      cell: (task) =>
        task.dueAt === null ? "–" : duration(Math.max(0, Math.round((Date.parse(task.dueAt) - Date.now()) / 1000))),
    },
    attempt,
    caller,
    key,
  ],
  dead: [id, { name: "Died", number: true, cell: (task) => time(task.finishedAt) }, attempt, error, caller, key],
  finished: [
    id,
    { name: "State", cell: (task) => state(task) },
    { name: "Ended", number: true, cell: (task) => time(task.finishedAt) },
    {
      name: "Took",
      number: true,
      cell: ({ startedAt, finishedAt }) =>
        startedAt === null || finishedAt === null
          ? "–"
          : duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000),
    },
    error,
    caller,
    key,
  ],
};

const ACTIONS = { name: "Actions", hidden: true };

/**
 * The columns of a list; keys only where the queue has them.
 * @param {List} list
 * @param {Queue} queue
 */
export const columns = (list, queue) => [...shown(list, queue), ACTIONS];

/**
 * @param {List} list
 * @param {Queue} queue
 */
function shown(list, queue) {
  const isKeyed = queue.order === "fair" || queue.held !== null;
  return COLUMNS[list].filter((column) => column !== key || isKeyed);
}

/**
 * @param {List} list
 * @param {Queue} queue
 * @param {ListedTask} task
 * @param {import("../views/view.js").Desk} desk
 * @returns {readonly Content[]}
 */
export function cells(list, queue, task, desk) {
  const actions = taskButtons(task, desk);
  return [
    ...shown(list, queue).map((column) => column.cell(task)),
    actions.length > 0 && h("span", { class: "actions" }, actions),
  ];
}
