/** The workers: where they are, what each runs, and when each was last heard of. */

import { paths } from "../address.js";
import { count, counted, duration, moment, secondsSince } from "../parts/format.js";
import { h } from "../parts/html.js";
import { table } from "../parts/table.js";
import { ask } from "../server/server.js";

/** @typedef {import("../server/wire.js").Worker} Worker */

/** A worker that was not heard of for so long may be gone. */
const SILENT_S = 30;
/** Tasks of a worker that are named. */
const MOST_TASKS = 8;

const COLUMNS = [
  { name: "Worker" },
  { name: "Host" },
  { name: "Role" },
  { name: "Version" },
  { name: "Up for", number: true },
  { name: "Last heard of", number: true },
  { name: "Busy", number: true },
  { name: "Queues", wide: true },
  { name: "Running", wide: true },
];

/**
 * @param {import("./view.js").Desk} _desk
 * @returns {import("./view.js").View}
 */
export function workers(_desk) {
  /** @type {Worker[]} */
  let items = [];
  let truncated = false;
  return {
    title: "Workers",
    async load(signal) {
      ({ items, truncated } = await ask("/v1/workers", { signal }));
    },
    show() {
      const slots = items.reduce((sum, worker) => sum + slotsOf(worker), 0);
      const running = items.reduce((sum, worker) => sum + worker.running.length, 0);
      return [
        h(
          "div",
          { class: "head" },
          h("h1", null, "Workers"),
          h(
            "p",
            { class: "summary" },
            `${counted(items.length, "worker")} · ${count(running)} running · ${counted(slots, "slot")}`,
          ),
        ),
        items.length === 0
          ? nobody()
          : table("Workers", COLUMNS, items, (worker) => ({ key: worker.id, cells: cells(worker) })),
        truncated && h("p", { class: "hint" }, "Not all running tasks are shown."),
      ];
    },
  };
}

/** @param {Worker} worker */
const slotsOf = ({ slots }) => Object.values(slots).reduce((sum, number) => sum + number, 0);

/** @param {Worker} worker */
function cells(worker) {
  const { id, kind, host, pid, role, version, startedAt, seenAt, slots, running } = worker;
  const silence = seenAt === null ? null : secondsSince(seenAt);
  return [
    [
      h("span", { class: "id whole" }, id),
      kind === "remote" && h("span", { class: "badge", title: "Takes work over HTTP" }, "remote"),
      kind === "silent" &&
        h("span", { class: "badge warn", title: "It has tasks, but has sent no heartbeat lately" }, "silent"),
    ],
    host === null
      ? "–"
      : h("span", { class: "whole" }, host, pid !== null && h("span", { class: "hint" }, ` · ${pid}`)),
    role ?? "–",
    version ?? "–",
    startedAt === null ? "–" : duration(Math.round(secondsSince(startedAt))),
    silence === null || seenAt === null
      ? "–"
      : h(
          "time",
          { datetime: seenAt, title: moment(seenAt), class: silence > SILENT_S ? "warn" : "" },
          `${duration(Math.round(silence))} ago`,
        ),
    `${count(running.length)} / ${count(slotsOf(worker))}`,
    h(
      "span",
      { class: "chips" },
      Object.entries(slots).map(([queue, number]) =>
        h("a", { key: queue, href: paths.queue(queue) }, `${queue} ${number}`),
      ),
    ),
    running.length === 0
      ? "–"
      : h(
          "span",
          { class: "chips" },
          running
            .slice(0, MOST_TASKS)
            .map((task) =>
              h("a", { key: task.id, class: "id", href: paths.task(task.id), title: task.queue }, task.id),
            ),
          running.length > MOST_TASKS && h("span", { class: "hint" }, `and ${running.length - MOST_TASKS} more`),
        ),
  ];
}

function nobody() {
  return h(
    "div",
    { class: "empty", key: "empty" },
    h("p", null, "No workers: tasks are accepted, but nothing runs them. To start one beside this server:"),
    h("pre", null, "npx paihao start --role worker"),
  );
}
