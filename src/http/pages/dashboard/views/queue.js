/** A queue: its figures, its last hour, and its tasks by list. */

import { addressOf, paths } from "../address.js";
import { chart } from "../parts/chart.js";
import { count, duration, etaRange, etaStart, moment, rate } from "../parts/format.js";
import { h } from "../parts/html.js";
import { queryOf } from "../queue/filters.js";
import { badges, pauseButton } from "../queue/queue-actions.js";
import { submission } from "../queue/submission.js";
import { LISTS, taskList } from "../queue/task-list.js";
import { history } from "../server/history.js";
import { ask, ServerError } from "../server/server.js";
import { nothingThere } from "./missing.js";

/** @typedef {import("../server/wire.js").Queue} Queue */

/**
 * @param {import("./view.js").Desk} desk
 * @param {string} name
 * @returns {import("./view.js").View}
 */
export function queue(desk, name) {
  const path = `/v1/queues/${encodeURIComponent(name)}`;
  /** @type {Queue | null} */
  let known = null;
  /** @type {import("../server/wire.js").QueueHistory | null} */
  let past = null;
  const pastOf = history(`${path}/history?step=30`, 10_000);
  const list = taskList(desk, name);
  const form = submission(desk, name);
  const tabOf = () => {
    const address = addressOf(location.pathname);
    const wanted = address.view === "queue" ? address.tab : "";
    return LISTS.find((each) => each === wanted) ?? "waiting";
  };

  return {
    title: name,
    async load(signal) {
      const tab = tabOf();
      const answer = await ask(path, { signal }).catch((error) => {
        if (error instanceof ServerError && error.status === 404) return null;
        throw error;
      });
      known = answer;
      if (!answer) return;
      [past] = await Promise.all([
        pastOf(signal),
        // A key that may not read tasks sees the figures nevertheless.
        answer.actions.includes("list") ? list.load(tab, signal) : null,
      ]);
    },
    leave: () => list.leave(),
    show() {
      if (!known) return nothingThere("No such queue", ["This server has no queue ", h("code", null, name), "."]);
      const tab = tabOf();
      return [
        h("p", { class: "trail" }, h("a", { href: paths.overview }, "Queues"), " /"),
        h(
          "div",
          { class: "head" },
          h("h1", null, name, badges(known)),
          h("div", { class: "buttons" }, known.actions.includes("submit") && form.button(), pauseButton(known, desk)),
        ),
        known.resting && rest(known.resting),
        form.show(known),
        h("dl", { class: "figures" }, figures(known)),
        past && h("div", { class: "charts", key: "charts" }, charts(past)),
        h("nav", { class: "tabs", "aria-label": "Tasks by list" }, tabs(known, tab)),
        known.actions.includes("list")
          ? list.show(tab, known)
          : h("p", { class: "empty" }, "Its tasks are shown to keys with the scope read or admin."),
      ];
    },
  };
}

/** @param {NonNullable<Queue["resting"]>} resting */
function rest({ since, reason, nextProbe }) {
  return h(
    "p",
    { class: "notice warn", key: "resting" },
    `Resting since ${moment(since)}: ${reason}. The next probe is at ${moment(nextProbe)}.`,
  );
}

/** @param {Queue} queue */
function figures(queue) {
  /** @param {string} name @param {import("../parts/html.js").Content} value @param {string} [kind] */
  const figure = (name, value, kind) =>
    h("div", { key: name }, h("dt", null, name), h("dd", { class: kind ?? null }, value));
  return [
    figure("Waiting", count(queue.waiting)),
    queue.held !== null && figure("Held", count(queue.held)),
    figure("Running", [count(queue.running), h("small", null, ` of ${count(queue.slots)}`)]),
    queue.workers === 0
      ? figure("New task waits", "no workers", "warn")
      : figure("New task waits", [etaStart(queue.eta), h("small", null, etaRange(queue.eta))]),
    figure("Oldest waits", duration(queue.oldestWaitingSeconds)),
    figure("In", [rate(queue.rate.accepted), h("small", null, " / s")]),
    figure("Out", [rate(queue.rate.finished), h("small", null, " / s")]),
    figure("Failed", [rate(queue.rate.failed), h("small", null, " / s")], queue.rate.failed > 0 ? "bad" : ""),
    figure("Service time", duration(queue.serviceTime.mean)),
    figure("Workers", count(queue.workers), queue.workers === 0 ? "warn" : ""),
    queue.slotsWanted !== null &&
      figure("Slots wanted", count(queue.slotsWanted), queue.slotsWanted > queue.slots ? "warn" : ""),
  ];
}

/** @param {import("../server/wire.js").QueueHistory} past */
function charts(past) {
  const { at, step } = past;
  /** @param {readonly number[]} counts */
  const perSecond = (counts) => counts.map((value) => value / step);
  return [
    chart("waiting", "In line", at, count, [
      { name: "waiting", values: past.waiting },
      { name: "running", values: past.running, color: "good" },
    ]),
    chart("flow", "Tasks per second", at, rate, [
      { name: "started", values: perSecond(past.started) },
      { name: "finished", values: perSecond(past.finished), color: "good" },
      { name: "failed", values: perSecond(past.failed), color: "bad" },
    ]),
    chart("wait", "Wait", at, duration, [
      { name: "p50", values: past.waitP50 },
      { name: "p95", values: past.waitP95 },
    ]),
    chart("service", "Service time", at, duration, [
      { name: "p50", values: past.serviceP50 },
      { name: "p95", values: past.serviceP95 },
    ]),
  ];
}

/**
 * @param {Queue} queue
 * @param {string} shown
 */
function tabs(queue, shown) {
  const counts = {
    waiting: queue.waiting,
    running: queue.running,
    scheduled: queue.scheduled,
    dead: queue.dead,
    finished: null,
  };
  return LISTS.map((list) =>
    h(
      "a",
      { href: paths.queue(queue.name, list, queryOf(list)), key: list, "aria-current": list === shown ? "page" : null },
      list.slice(0, 1).toUpperCase() + list.slice(1),
      counts[list] !== null &&
        h("span", { class: list === "dead" && queue.dead > 0 ? "count bad" : "count" }, count(counts[list])),
    ),
  );
}
