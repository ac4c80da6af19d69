/** A queue: its figures, its last hour, and its tasks by list. */

import { allowed, count, duration, rate } from "../../../../../words/numbers.ts";
import { doneRate, hasNoWorker, slotsBeside } from "../../../../../words/queue-health.ts";
import { html, useMemo, useRef, useState } from "../../preact.js";
import { now } from "../../server.js";
import { addressOf, paths } from "../address.js";
import { ask, ServerError } from "../api.js";
import { useDesk } from "../desk.js";
import { chart, chartsOf, pastOf } from "../parts/chart.js";
import { asOf, etaRange, etaStart, moment } from "../parts/format.js";
import { ByCaller } from "../queue/callers.js";
import { queryOf } from "../queue/filters.js";
import { adjustButtons, badges, pauseButton } from "../queue/queue-actions.js";
import { Submission } from "../queue/submission.js";
import { errorsSeldom, LISTS, loadList, TaskList } from "../queue/task-list.js";
import { nothingThere, View } from "./view.js";

/** @typedef {import("../api.js").Queue} Queue */
/** @typedef {{ queue: Queue, at: Date, past: import("../api.js").QueueHistory, page: import("../queue/task-list.js").Loaded | null, errors: import("../api.js").DeadErrors | null }} Known */

function shownTab() {
  const address = addressOf(location.pathname);
  const wanted = address.view === "queue" ? address.tab : "";
  return LISTS.find((each) => each === wanted) ?? "waiting";
}

/** @param {{ name: string }} props */
export function QueueView({ name }) {
  const path = `/v1/queues/${encodeURIComponent(name)}`;
  const hour = useMemo(() => pastOf(`${path}/history`, 30, 10_000), [path]);

  const errorsOf = useMemo(() => errorsSeldom(name), [name]);

  /** @param {AbortSignal} signal @returns {Promise<Known | string>} */
  async function load(signal) {
    const tab = shownTab();
    try {
      /** @type {Queue} */
      const queue = await ask(path, { signal });
      const at = now();
      // A key that may not read tasks still sees the figures.
      const lists = queue.actions.includes("list")
        ? Promise.all([loadList(name, tab, signal), errorsOf(queue, tab, signal)])
        : [null, null];
      const [past, [page, errors]] = await Promise.all([hour(signal), lists]);
      return { queue, at, past, page, errors };
    } catch (error) {
      if (error instanceof ServerError && error.status === 404) return name;
      throw error;
    }
  }

  return html`
    <${View} title=${name} load=${load}>
      ${(/** @type {Known | string} */ known) =>
        typeof known === "string"
          ? nothingThere("No such queue", html`This server has no queue <code>${name}</code>.`)
          : html`<${Shown} known=${known} />`}
    <//>`;
}

/** @param {{ known: Known }} props */
function Shown({ known: { queue, at, past, page, errors } }) {
  const desk = useDesk();
  /** Once opened, the form stays in the page with what was entered. */
  const [form, setForm] = useState(/** @type {"open" | "closed" | null} */ (null));
  const formButton = useRef(/** @type {HTMLElement | null} */ (null));
  const closeForm = () => {
    setForm("closed");
    formButton.current?.focus();
  };
  const { name, description, actions, resting, turns } = queue;
  const tab = shownTab();
  const submit = html`
    <button type="button" id="submit-task" ref=${formButton} aria-expanded=${form === "open"}
      onClick=${form === "open" ? closeForm : () => setForm("open")}>${turns ? "Take a number" : "Submit a task"}</button>`;
  return html`
    <p class="trail"><a href=${paths.overview}>Queues</a> /</p>
    <div class="head">
      <h1>${name}${badges(queue)}</h1>
      <p class="summary">${asOf(at)}</p>
      <div class="buttons">${actions.includes("submit") && submit}${adjustButtons(queue, desk)}${pauseButton(queue, desk)}</div>
    </div>
    ${description && html`<p class="summary">${description}</p>`}
    ${
      resting &&
      html`
        <p class="notice warn">
          Circuit breaker open since ${moment(resting.since)}: ${resting.reason}. The next probe is at ${moment(resting.nextProbe)}.
        </p>`
    }
    ${form && html`<${Submission} queue=${queue} isOpen=${form === "open"} onClose=${closeForm} />`}
    <dl class="figures">${figures(queue)}</dl>
    ${chartsOf(charts(past, queue, at))}
    ${actions.includes("list") && html`<${ByCaller} key=${name} queue=${queue} />`}
    <nav class="tabs" aria-label="Tasks by list">${tabs(queue, tab)}</nav>
    ${
      actions.includes("list")
        ? html`<${TaskList} tab=${tab} queue=${queue} page=${page} errors=${errors} />`
        : html`<p class="empty">Its tasks are shown only to API keys with the scope read or admin.</p>`
    }`;
}

/** @param {Queue} queue */
function figures(queue) {
  const { eta, rate: per, slotsWanted, limit, settings, turns } = queue;
  const slots = slotsBeside(queue);
  /** @param {string} name @param {string} value @param {string} [kind] @param {string} [unit] */
  const figure = (name, value, kind, unit) => html`
    <div key=${name}><dt>${name}</dt><dd class=${kind}>${value}${unit !== undefined && html`<small>${unit}</small>`}</dd></div>`;
  return [
    figure("Waiting", count(queue.waiting)),
    queue.held !== null && figure("Held", count(queue.held)),
    figure(
      turns ? (turns.door ? "Served now" : "Turns taken") : "Running",
      count(queue.running),
      undefined,
      slots === null ? "" : ` of ${count(slots)}`,
    ),
    hasNoWorker(queue) && eta === null
      ? figure("Expected wait", "no workers", "warn")
      : figure("Expected wait", etaStart(eta), undefined, etaRange(eta)),
    settings.rate.now !== null && figure("Allowed", allowed(settings.rate.now)),
    figure("Oldest wait", duration(queue.oldestWaitingSeconds)),
    figure("In", rate(per.accepted), undefined, " / s"),
    figure("Failed", rate(per.failed), per.failed > 0 ? "bad" : "", " / s"),
    figure("Out", rate(doneRate(queue)), undefined, " / s"),
    figure(
      turns ? (turns.door ? "A request takes" : "A turn takes") : "Service time",
      duration(queue.serviceTime.mean),
    ),
    turns && turns.longest !== null && figure(turns.door ? "Longest request" : "Longest turn", duration(turns.longest)),
    !turns && settings.total.now !== null && figure("At a time", `at most ${count(settings.total.now)}`),
    !turns && figure("Workers", count(queue.workers), queue.workers === 0 ? "warn" : ""),
    limit !== null &&
      figure(
        "Of one caller",
        [limit.waiting, limit.running].map((most) => (most === null ? "any" : count(most))).join(" / "),
        "",
        " waiting / running",
      ),
    // None are wanted of an idle queue.
    !turns &&
      slotsWanted !== null &&
      slotsWanted > 0 &&
      figure("Slots wanted", count(slotsWanted), slotsWanted > queue.slots ? "warn" : ""),
  ];
}

/**
 * What was, and at its end the moment of the figures above.
 * @param {import("../api.js").QueueHistory} past
 * @param {Queue} queue
 * @param {Date} now
 */
function charts(past, queue, now) {
  const { at, step, deploys } = past;
  /** @param {readonly number[]} counts */
  const perSecond = (counts) => counts.map((value) => value / step);
  /** @param {string} title @param {readonly number[]} at @param {(value: number | null) => string} format @param {readonly import("../parts/chart.js").Line[]} lines */
  const draw = (title, at, format, lines) => chart(title, at, format, lines, deploys);
  return [
    draw("In line", [...at, now.getTime() / 1000], count, [
      { name: "waiting", values: [...past.waiting, queue.waiting] },
      {
        name: queue.turns ? (queue.turns.door ? "served" : "turns") : "running",
        values: [...past.running, queue.running],
        color: "good",
      },
    ]),
    draw(queue.turns ? (queue.turns.door ? "Requests per second" : "Turns per second") : "Tasks per second", at, rate, [
      { name: "failed", values: perSecond(past.failed), color: "bad" },
      {
        name: "done",
        values: perSecond(past.finished.map((ended, i) => ended - (past.failed[i] ?? 0))),
        color: "good",
      },
      { name: "started", values: perSecond(past.started) },
    ]),
    draw("Wait", at, duration, [
      { name: "p50", values: past.waitP50 },
      { name: "p95", values: past.waitP95 },
    ]),
    draw(queue.turns ? (queue.turns.door ? "Length of a request" : "Length of a turn") : "Service time", at, duration, [
      { name: "p50", values: past.serviceP50 },
      { name: "p95", values: past.serviceP95 },
    ]),
  ];
}

/** A turn that fails is never dead. @param {Queue} queue */
const canDie = ({ turns, dead }) => !turns || dead > 0;

/**
 * @param {Queue} queue
 * @param {string} shown
 */
const tabs = (queue, shown) =>
  LISTS.filter((list) => list !== "dead" || list === shown || canDie(queue)).map((list) => {
    const number = list === "finished" ? null : queue[list];
    const isBad = list === "dead" && queue.dead > 0;
    return html`
      <a key=${list} href=${paths.queue(queue.name, list, queryOf(list))} aria-current=${list === shown ? "page" : null}>
        ${list === "running" && queue.turns ? (queue.turns.door ? "Served" : "Turns") : list.slice(0, 1).toUpperCase() + list.slice(1)}
        ${number !== null && html`<span class=${isBad ? "count bad" : "count"}>${count(number)}</span>`}
      </a>`;
  });
