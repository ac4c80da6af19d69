/** All queues, and the last hour. */

import { allowance, BAD, byTrouble, healthOf, slotsBeside, troubleOf } from "../../health.ts";
import { html, useEffect, useMemo, useState } from "../../preact.js";
import { count, counted, duration, moment, rate } from "../../words.ts";
import { paths, scrolledBefore } from "../address.js";
import { useDesk } from "../desk.js";
import { chart } from "../parts/chart.js";
import { eta } from "../parts/format.js";
import { sparkline } from "../parts/sparkline.js";
import { row, table } from "../parts/table.js";
import { badges, pauseButton } from "../queue/queue-actions.js";
import { usePolled } from "../refresh.js";
import { seldom, sumOf } from "../server/history.js";
import { ask } from "../server/server.js";
import { View } from "./view.js";

/** @typedef {import("../server/wire.js").Queue} Queue */
/** @typedef {import("../server/wire.js").Series} Series */

/** Lines of the charts that have a line for each queue. */
const MAX_LINES = 4;
/** How many rows are drawn at first, more than any screen shows, and how many more with each frame after that. */
const ROWS = { first: 60, more: 400 };
/** New history is shown in this many rows at a time, this far apart, ms: each step lays out the whole table anew. */
const HOUR_STEP_MS = 100;
/** The minimum height of a row, px. */
const MIN_ROW = 30;

/** @type {readonly import("../parts/table.js").Column[]} */
const COLUMNS = [
  { name: "Queue" },
  { name: "Last hour", hidden: true },
  { name: "Waiting", number: true },
  { name: "Running / slots", number: true },
  { name: "In / s", number: true },
  { name: "Out / s", number: true },
  { name: "Expected wait", number: true },
  { name: "Oldest wait", number: true },
  { name: "Service time", number: true },
  { name: "Dead", number: true },
  { name: "Actions", hidden: true },
];

export function Overview() {
  // Current figures are shown without waiting for the last hour of all queues.
  const hour = useMemo(() => seldom("/v1/history?step=60", 30_000), []);
  const { known: past } = usePolled(hour);
  return html`
    <${View} title="Queues" load=${load}>
      ${(/** @type {{ items: Queue[], at: Date }} */ { items, at }) => html`<${Queues} queues=${items} at=${at} past=${past} />`}
    <//>`;
}

/** @param {AbortSignal} signal */
async function load(signal) {
  const { items } = await ask("/v1/queues", { signal });
  return { items, at: new Date() };
}

/** @param {{ queues: Queue[], at: Date, past: import("../server/wire.js").History | null }} props */
function Queues({ queues, at, past }) {
  const desk = useDesk();
  /** Whether a person has chosen to see the server's own queues, which are also shown if something is wrong there. */
  const [isOwnChosen, chooseOwn] = useState(/** @type {boolean | null} */ (null));
  const [drawn, setDrawn] = useState(ROWS.first + Math.ceil(scrolledBefore() / MIN_ROW));
  const series = useMemo(() => new Map(past?.queues.map((each) => [each.name, each])), [past]);
  // The remaining rows are drawn in the next frames, from the top: all at once would block the page for seconds.
  useEffect(() => {
    if (drawn < queues.length) requestAnimationFrame(() => setDrawn(drawn + ROWS.more));
  }, [drawn, queues.length]);

  const sorted = byTrouble(queues);
  const users = sorted.filter((queue) => !queue.own);
  const own = sorted.filter((queue) => queue.own);
  const isOwnShown = isOwnChosen ?? own.some((queue) => troubleOf(queue) > 0);
  const told = sorted.filter((queue) => !queue.own || troubleOf(queue) > 0);
  /** @param {Queue} queue @param {number} place */
  const rowOf = (queue, place) => html`
    <${QueueRow} key=${queue.name} queue=${queue} place=${place} series=${series.get(queue.name)} desk=${desk} />`;
  /** @param {readonly Queue[]} shown @param {string} caption */
  const listed = (shown, caption) => table(caption, COLUMNS, shown.slice(0, drawn).map(rowOf));
  return html`
    <div class="head">
      <h1>Queues</h1>
      <p class="summary">${summary(users)} · as of <time datetime=${at.toISOString()}>${moment(at.toISOString())}</time></p>
    </div>
    ${told.length > 0 && html`<p class=${healthClass(told)}>${healthOf(told)}</p>`}
    ${past && html`<div class="charts">${charts(past, users, at)}</div>`}
    ${users.length === 0 ? empty() : listed(users, "Queues")}
    ${
      own.length > 0 &&
      html`
        <section aria-labelledby="own-title">
          <div class="head">
            <h2 id="own-title">The server’s own queues</h2>
            <p class="summary">${summary(own)}</p>
            <button type="button" class="quiet" aria-expanded=${isOwnShown} onClick=${() => chooseOwn(!isOwnShown)}>
              ${isOwnShown ? "Hide" : "Show"}
            </button>
          </div>
          ${isOwnShown && listed(own, "The server’s own queues")}
        </section>`
    }`;
}

/**
 * The row of a queue. It is drawn again only if something has changed; new history also arrives step by step.
 * @param {{ queue: Queue, place: number, series: Series | undefined, desk: import("../desk.js").Desk }} props
 */
function QueueRow({ queue, place, series, desk }) {
  const [shown, setShown] = useState(series);
  useEffect(() => {
    const timer = setTimeout(() => setShown(series), Math.floor(place / ROWS.more) * HOUR_STEP_MS);
    return () => clearTimeout(timer);
  }, [series]);
  return useMemo(() => row(queue.name, COLUMNS, cells(queue, shown, desk)), [JSON.stringify(queue), shown]);
}

/**
 * @param {Queue} queue
 * @param {Series | undefined} series
 * @param {import("../desk.js").Desk} desk
 */
const cells = (queue, series, desk) => [
  html`<a href=${paths.queue(queue.name)} class="name">${queue.name}</a>${badges(queue)}`,
  series && sparkline(series.waiting, `${queue.name}, waiting in the last hour`),
  html`
    <span>
      ${count(queue.waiting)}${queue.settings.rate.now && html`<small class="hint" title="What the rate allows"> · ${allowance(queue)}</small>`}
    </span>`,
  running(queue),
  rate(queue.rate.accepted),
  rate(queue.rate.finished),
  queue.workers === 0 && queue.eta === null ? html`<span class="warn">no workers</span>` : eta(queue.eta),
  duration(queue.oldestWaitingSeconds),
  duration(queue.serviceTime.mean),
  queue.dead === 0 ? "0" : html`<a href=${paths.queue(queue.name, "dead")} class="bad">${count(queue.dead)}</a>`,
  pauseButton(queue, desk, "quiet"),
];

/** @param {Queue} queue */
function running(queue) {
  const slots = slotsBeside(queue);
  if (slots === null)
    return html`<span title="More tasks than slots: several in one call, or workers have gone">${count(queue.running)}</span>`;
  return html`<span><span class=${slots > 0 && queue.running === slots ? "full" : ""}>${count(queue.running)}</span>${" / "}${count(slots)}</span>`;
}

/** @param {readonly Queue[]} queues */
function healthClass(queues) {
  const worst = Math.max(...queues.map(troubleOf));
  return `health ${worst >= BAD ? "bad" : worst > 0 ? "warn" : "good"}`;
}

/** @param {readonly Queue[]} queues */
function summary(queues) {
  /** @param {(queue: Queue) => number} figure */
  const sum = (figure) => total(queues.map(figure));
  const dead = sum((queue) => queue.dead);
  const parts = [
    `${count(sum((queue) => queue.waiting))} waiting`,
    `${count(sum((queue) => queue.running))} running`,
    `${count(sum((queue) => queue.scheduled))} scheduled`,
    counted(
      sum((queue) => queue.slots),
      "slot",
    ),
  ];
  return html`${parts.join(" · ")} · <span class=${dead > 0 ? "bad" : ""}>${count(dead)} dead</span>`;
}

/**
 * The last hour, and at its end the moment of the figures above.
 * @param {import("../server/wire.js").History} past
 * @param {readonly Queue[]} present
 * @param {Date} now
 */
function charts({ at, step, queues }, present, now) {
  const users = queues.filter((queue) => !queue.own);
  const waiting = total(present.map((queue) => queue.waiting));
  /** @param {number[]} counts */
  const perSecond = (counts) => counts.map((value) => value / step);
  const busiest = [...users]
    .sort((a, b) => total(b.finished) - total(a.finished))
    .slice(0, MAX_LINES)
    .filter((queue) => total(queue.finished) > 0);
  /** @param {"waitP95" | "serviceP95"} figure */
  const byQueue = (figure) => busiest.map((queue) => ({ name: queue.name, values: queue[figure] }));
  const sum = sumOf(users, at.length);
  return [
    chart("Waiting", [...at, now.getTime() / 1000], count, [{ name: "waiting", values: [...sum("waiting"), waiting] }]),
    chart("Tasks per second", at, rate, [
      { name: "started", values: perSecond(sum("started")), color: "accent" },
      { name: "finished", values: perSecond(sum("finished")), color: "good" },
      { name: "failed", values: perSecond(sum("failed")), color: "bad" },
    ]),
    chart("Wait, p95", at, duration, byQueue("waitP95")),
    chart("Service time, p95", at, duration, byQueue("serviceP95")),
  ];
}

/** @param {readonly number[]} values */
const total = (values) => values.reduce((sum, value) => sum + value, 0);

const empty = () => html`
  <div class="empty">
    <p>This server has no queues yet. Each handler in the folder HANDLERS makes one:</p>
    <pre>npx paihao init my-queues</pre>
  </div>`;
