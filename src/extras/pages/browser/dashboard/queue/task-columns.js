/** The columns of each list of a queue. */

import { FACTS } from "../../../../../task-record.ts";
import { count, duration } from "../../../../../words/numbers.ts";
import { html } from "../../preact.js";
import { ago, eta, progress, secondsSince, state, taskLink } from "../parts/format.js";
import { taskButtons } from "../task/task-actions.js";

/** @typedef {import("./task-list.js").List} List */
/** @typedef {import("../api.js").ListedTask} ListedTask */
/** @typedef {import("../api.js").Queue} Queue */
/** @typedef {import("../../preact.js").Content} Content */
/** @typedef {import("../parts/table.js").Column & { cell: (task: ListedTask) => Content }} Shown */

/** @param {string | null} iso */
const time = (iso) => (iso === null ? "–" : ago(iso));
/** @param {string | null} iso */
const since = (iso) => (iso === null ? "–" : duration(Math.round(secondsSince(iso))));

const place = {
  name: "Place",
  number: true,
  cell: (/** @type {ListedTask} */ { index, held }) => [
    index === null ? "–" : count(index + 1),
    held && html`<span class="badge" title="Waits for a task with the same line key to end">held</span>`,
  ],
};
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
    return text === "" ? "–" : html`<span class="clipped" title=${text}>${text}</span>`;
  },
};

/** @type {Readonly<Record<List, readonly Shown[]>>} */
const COLUMNS = {
  waiting: [
    place,
    { name: "Waits for", number: true, cell: (task) => since(task.createdAt) },
    { name: "Starts in", number: true, cell: (task) => eta(task.eta) },
  ],
  running: [
    { name: "Progress", wide: true, cell: (task) => progress(task) },
    { name: "Runs for", number: true, cell: (task) => since(task.startedAt) },
    attempt,
    { name: "Worker", cell: (task) => task.worker ?? "–" },
  ],
  scheduled: [
    { name: "State", cell: (task) => state(task) },
    { name: "Due", number: true, cell: (task) => time(task.dueAt) },
    attempt,
  ],
  dead: [{ name: "Died", number: true, cell: (task) => time(task.finishedAt) }, attempt, error],
  finished: [
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
  ],
};

/** Of those whose turn it is. @type {readonly Shown[]} */
const TURN_COLUMNS = [
  { name: "Called", number: true, cell: ({ turn }) => time(turn?.since ?? null) },
  { name: "Holds it for", number: true, cell: ({ startedAt }) => since(startedAt) },
  { name: "Kept until", number: true, cell: ({ turn }) => time(turn?.until ?? null) },
  { name: "Ends at", number: true, cell: ({ turn, deadlineAt }) => time(turn?.endsAt ?? deadlineAt) },
];

/** Of requests that are being served at a door. @type {readonly Shown[]} */
const DOOR_COLUMNS = [
  { name: "Served for", number: true, cell: ({ startedAt }) => since(startedAt) },
  { name: "Waited", number: true, cell: (task) => waited(task) },
];

/** @param {ListedTask} task */
const waited = ({ createdAt, startedAt }) =>
  startedAt === null ? "–" : duration(Math.round((Date.parse(startedAt) - Date.parse(createdAt)) / 1000));

/**
 * The columns of a list, and those of further facts that one of its tasks has.
 * @param {List} list
 * @param {readonly ListedTask[]} tasks
 * @param {(task: ListedTask) => Content} box what selects a task
 * @param {import("../desk.js").Desk} desk
 * @returns {readonly Shown[]}
 */
export function columns(list, tasks, box, desk) {
  const turn = list === "running" ? tasks.find(({ turn }) => turn)?.turn : undefined;
  const isOfTurns = turn !== undefined;
  const further = FACTS.filter(
    ({ name, column }) => column && name !== "label" && tasks.some((task) => Reflect.get(task, name)),
  );
  /** @param {ListedTask} task */
  const named = (task) => html`
    <span class="task-name">${box(task)}${taskLink(task)}</span>`;
  return [
    { name: "Task", cell: named },
    ...(turn ? (turn.door ? DOOR_COLUMNS : TURN_COLUMNS) : COLUMNS[list]),
    ...further.map(({ name, title }) => ({
      name: title,
      cell: (/** @type {ListedTask} */ task) => Reflect.get(task, name) ?? "–",
    })),
    ...(isOfTurns
      ? [{ name: "Actions", hidden: true, cell: (/** @type {ListedTask} */ task) => taskButtons(task, desk, "quiet") }]
      : []),
  ];
}
