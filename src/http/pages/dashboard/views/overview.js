/** All queues, and the last hour. */

import { paths } from "../address.js";
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

/**
 * @param {import("./view.js").Desk} desk
 * @returns {import("./view.js").View}
 */
export function overview(desk) {
  /** @type {Queue[]} */
  let queues = [];
  /** @type {import("../server/wire.js").History | null} */
  let past = null;
  /** Whether a person has chosen to see the server's own queues; they are shown by themselves if something is wrong there. */
  /** @type {boolean | null} */
  let isOwnChosen = null;
  const pastOf = history("/v1/history?step=60", 30_000);

  /** @param {readonly Queue[]} shown @param {string} caption */
  const listed = (shown, caption) => table(caption, COLUMNS, shown, (queue) => row(queue, past, desk));

  return {
    title: "Queues",
    async load(signal) {
      const [answer, hour] = await Promise.all([ask("/v1/queues", { signal }), pastOf(signal)]);
      queues = answer.items;
      past = hour;
    },
    show() {
      const users = queues.filter((queue) => !queue.own);
      const own = queues.filter((queue) => queue.own);
      const isOwnShown = isOwnChosen ?? own.some((queue) => queue.dead > 0 || queue.paused);
      const toggle = () => {
        isOwnChosen = !isOwnShown;
        desk.redraw();
      };
      return [
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
 * @param {Queue} queue
 * @param {import("../server/wire.js").History | null} past
 * @param {import("./view.js").Desk} desk
 */
function row(queue, past, desk) {
  const series = past?.queues.find(({ name }) => name === queue.name);
  return {
    key: queue.name,
    cells: [
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
    ],
  };
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
