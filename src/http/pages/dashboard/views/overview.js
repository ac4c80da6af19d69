/** All queues, and the last hour. */

import { paths, scrolledBefore } from "../address.js";
import { chart } from "../parts/chart.js";
import { count, counted, duration, eta, rate } from "../parts/format.js";
import { h } from "../parts/html.js";
import { sparkline } from "../parts/sparkline.js";
import { table } from "../parts/table.js";
import { badges, pauseButton } from "../queue/queue-actions.js";
import { history, sumOf } from "../server/history.js";
import { ask } from "../server/server.js";

/** @typedef {import("../server/wire.js").Queue} Queue */

/** Lines of the charts that have a line for each queue. */
const MOST_LINES = 4;
/** More rows than any screen shows are drawn at first, and with each frame from then on so many times as many. */
const ROWS = { first: 60, growth: 4 };
/** No row is lower, px. */
const LEAST_ROW = 30;

/**
 * @param {import("./view.js").Desk} desk
 * @returns {import("./view.js").View}
 */
export function overview(desk) {
  /** @type {Queue[]} */
  let queues = [];
  /** @type {import("../server/wire.js").History | null} */
  let past = null;
  /** What went wrong with it. @type {unknown} */
  let pastTrouble = null;
  /** Whether a person has chosen to see the server's own queues; they are shown by themselves if something is wrong there. */
  /** @type {boolean | null} */
  let isOwnChosen = null;
  let drawn = ROWS.first + Math.ceil(scrolledBefore() / LEAST_ROW);
  const pastOf = history("/v1/history?step=60", 30_000);
  const rowOf = keptRows(desk);

  /** @param {readonly Queue[]} shown @param {string} caption */
  const listed = (shown, caption) => table(caption, COLUMNS, shown.slice(0, drawn), rowOf);

  /** What is not drawn yet comes with the next frames, from the top on: all at once would stop the page for seconds. */
  function drawMore() {
    if (drawn >= queues.length && !rowOf.isBehind()) return;
    drawn *= ROWS.growth;
    requestAnimationFrame(desk.redraw);
  }

  return {
    title: "Queues",
    async load(signal) {
      // The figures do not wait for the last hour of all queues.
      pastOf(signal).then(
        (hour) => {
          if (hour === past) return;
          past = hour;
          rowOf.setPast(hour);
          desk.redraw();
        },
        (error) => {
          if (!signal.aborted) pastTrouble = error;
        },
      );
      queues = (await ask("/v1/queues", { signal })).items;
      const trouble = pastTrouble;
      pastTrouble = null;
      if (trouble === null) return;
      desk.redraw();
      throw trouble;
    },
    show() {
      rowOf.begin();
      const users = queues.filter((queue) => !queue.own);
      const own = queues.filter((queue) => queue.own);
      const isOwnShown = isOwnChosen ?? own.some((queue) => queue.dead > 0 || queue.paused);
      const toggle = () => {
        isOwnChosen = !isOwnShown;
        desk.redraw();
      };
      const content = [
        h("div", { class: "head" }, h("h1", null, "Queues"), h("p", { class: "summary" }, summary(users))),
        past && h("div", { class: "charts", key: "charts" }, charts(past)),
        users.length === 0 ? empty() : listed(users, "Queues"),
        own.length > 0 &&
          h(
            "section",
            { key: "own", "aria-labelledby": "own-title" },
            h(
              "div",
              { class: "head" },
              h("h2", { id: "own-title" }, "The server’s own queues"),
              h("p", { class: "summary" }, summary(own)),
              h(
                "button",
                { type: "button", class: "quiet", "aria-expanded": String(isOwnShown), onclick: toggle },
                isOwnShown ? "Hide" : "Show",
              ),
            ),
            isOwnShown && listed(own, "The server’s own queues"),
          ),
      ];
      drawMore();
      return content;
    },
  };
}

/** @type {readonly import("../parts/table.js").Column[]} */
const COLUMNS = [
  { name: "Queue" },
  { name: "Last hour", hidden: true },
  { name: "Waiting", number: true },
  { name: "Running / slots", number: true },
  { name: "In / s", number: true },
  { name: "Out / s", number: true },
  { name: "New task waits", number: true },
  { name: "Oldest waits", number: true },
  { name: "Service time", number: true },
  { name: "Dead", number: true },
  { name: "Actions", hidden: true },
];

/**
 * Makes the rows; that of a queue in which nothing has changed is the same as before, which costs nothing to draw again. Another last hour
 * changes all rows, but only some with each drawing.
 * @param {import("./view.js").Desk} desk
 */
function keptRows(desk) {
  /** @type {Map<string, { figures: string, series: unknown, row: import("../parts/table.js").Row }>} */
  const rows = new Map();
  /** @type {ReadonlyMap<string, import("../server/wire.js").Series>} */
  let past = new Map();
  let most = Number.POSITIVE_INFINITY;
  let left = most;
  /** @param {Queue} queue */
  const rowOf = (queue) => {
    const [figures, series] = [JSON.stringify(queue), past.get(queue.name)];
    const before = rows.get(queue.name);
    if (before?.figures === figures && (before.series === series || left <= 0)) {
      if (before.series !== series) left -= 1;
      return before.row;
    }
    left -= 1;
    const row = { key: queue.name, cells: cells(queue, series, desk) };
    rows.set(queue.name, { figures, series, row });
    return row;
  };
  return Object.assign(rowOf, {
    /** Before each drawing. */
    begin: () => {
      left = most;
      most *= ROWS.growth;
    },
    /** Whether rows were left as they were. */
    isBehind: () => left < 0,
    /** @param {import("../server/wire.js").History} hour */
    setPast: (hour) => {
      most = ROWS.first;
      past = new Map(hour.queues.map((each) => [each.name, each]));
    },
  });
}

/**
 * @param {Queue} queue
 * @param {import("../server/wire.js").Series | undefined} series
 * @param {import("./view.js").Desk} desk
 */
function cells(queue, series, desk) {
  return [
    [h("a", { href: paths.queue(queue.name), class: "name" }, queue.name), badges(queue)],
    series && sparkline(series.waiting, `${queue.name}, waiting in the last hour`),
    count(queue.waiting),
    h(
      "span",
      null,
      h("span", { class: queue.slots > 0 && queue.running >= queue.slots ? "full" : "" }, count(queue.running)),
      ` / ${count(queue.slots)}`,
    ),
    rate(queue.rate.accepted),
    rate(queue.rate.finished),
    queue.workers === 0 ? h("span", { class: "warn" }, "no workers") : eta(queue.eta),
    duration(queue.oldestWaitingSeconds),
    duration(queue.serviceTime.mean),
    queue.dead === 0 ? "0" : h("a", { href: paths.queue(queue.name, "dead"), class: "bad" }, count(queue.dead)),
    pauseButton(queue, desk, "quiet"),
  ];
}

/** @param {readonly Queue[]} queues */
function summary(queues) {
  /** @param {(queue: Queue) => number} figure */
  const total = (figure) => queues.reduce((sum, queue) => sum + figure(queue), 0);
  const dead = total((queue) => queue.dead);
  const parts = [
    `${count(total((queue) => queue.waiting))} waiting`,
    `${count(total((queue) => queue.running))} running`,
    `${count(total((queue) => queue.scheduled))} scheduled`,
    `${counted(
      total((queue) => queue.slots),
      "slot",
    )}`,
  ];
  return [parts.join(" · "), " · ", h("span", { class: dead > 0 ? "bad" : "" }, `${count(dead)} dead`)];
}

/** @param {import("../server/wire.js").History} past */
function charts({ at, step, queues }) {
  const users = queues.filter((queue) => !queue.own);
  /** @param {number[]} counts */
  const perSecond = (counts) => counts.map((value) => value / step);
  const busiest = [...users]
    .sort((a, b) => total(b.finished) - total(a.finished))
    .slice(0, MOST_LINES)
    .filter((queue) => total(queue.finished) > 0);
  /** @param {"waitP95" | "serviceP95"} figure */
  const byQueue = (figure) => busiest.map((queue) => ({ name: queue.name, values: queue[figure] }));
  const sum = sumOf(users, at.length);
  return [
    chart("waiting", "Waiting", at, count, [{ name: "waiting", values: sum("waiting") }]),
    chart("flow", "Tasks per second", at, rate, [
      { name: "started", values: perSecond(sum("started")), color: "accent" },
      { name: "finished", values: perSecond(sum("finished")), color: "good" },
      { name: "failed", values: perSecond(sum("failed")), color: "bad" },
    ]),
    chart("wait", "Wait, p95", at, duration, byQueue("waitP95")),
    chart("service", "Service time, p95", at, duration, byQueue("serviceP95")),
  ];
}

/** @param {readonly number[]} values */
const total = (values) => values.reduce((sum, value) => sum + value, 0);

function empty() {
  return h(
    "div",
    { class: "empty", key: "empty" },
    h("p", null, "This server has no queues yet. Each handler in the folder HANDLERS makes one:"),
    h("pre", null, "npx paihao init my-queues"),
  );
}
