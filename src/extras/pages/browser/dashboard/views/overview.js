/** All queues, and the last hour. */

import { count, counted, duration, rate } from "../../../../../words/numbers.ts";
import { allWell, byTrouble, slotsBeside, troublesOf } from "../../../../../words/queue-health.ts";
import { html, useEffect, useMemo, useState } from "../../preact.js";
import { now } from "../../server.js";
import { choose, options, scrolledBefore } from "../address.js";
import { ask, send } from "../api.js";
import { chart, chartsOf, pastOf, sumOf } from "../parts/chart.js";
import { asOf } from "../parts/format.js";
import { incidentList } from "../parts/incidents.js";
import { queueTable } from "../queue/queue-table.js";
import { usePolled } from "../refresh.js";
import { View } from "./view.js";

/** @typedef {import("../api.js").Queue} Queue */
/** @typedef {import("../api.js").Incident} Incident */

/** Lines of the charts that have a line for each queue. */
const MAX_LINES = 4;
/** How many rows are drawn at first, more than any screen shows, and how many more with each frame after that. */
const ROWS = { first: 60, more: 400 };
/** The minimum height of a row, px. */
const MIN_ROW = 30;

export function Overview() {
  // Current figures are shown without waiting for the last hour of all queues.
  const hour = useMemo(() => pastOf("/v1/history", 60, 30_000), []);
  const { known: past } = usePolled(hour);
  return html`
    <${View} title="Queues" load=${load}>
      ${(/** @type {Awaited<ReturnType<typeof load>>} */ { items, incidents, reasons, at }) => html`
        <${Queues} queues=${items} incidents=${incidents} reasons=${reasons} at=${at} past=${past} />`}
    <//>`;
}

/** @param {AbortSignal} signal */
async function load(signal) {
  const [{ items }, incidents, reasons] = await Promise.all([
    /** @type {Promise<{ items: Queue[] }>} */ (ask("/v1/queues", { signal })),
    /** @type {Promise<{ items: Incident[] }>} */ (ask("/v1/incidents", { signal })),
    loadReasons(signal),
  ]);
  return { items, incidents: incidents.items, reasons, at: now() };
}

/**
 * Why the server is not ready.
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
async function loadReasons(signal) {
  const answer = await send("/readyz", { signal });
  // A proxy may keep it from the outside.
  const { reasons = [] } = await answer.json().catch(() => ({}));
  // What degrades it is an incident too.
  return answer.ok ? [] : reasons;
}

/** @param {{ queues: Queue[], incidents: readonly Incident[], reasons: readonly string[], at: Date, past: import("../api.js").History | null }} props */
function Queues({ queues, incidents, reasons, at, past }) {
  /** What the names of the queues that are shown contain. */
  const [part, setPart] = useState(options().get("name") ?? "");
  /** Whether a person has chosen to see the server's own queues, which are also shown if something is wrong there. */
  const [isOwnChosen, chooseOwn] = useState(/** @type {boolean | null} */ (null));
  const [drawn, setDrawn] = useState(ROWS.first + Math.ceil((scrolledBefore() ?? 0) / MIN_ROW));
  const series = useMemo(() => new Map(past?.queues.map((each) => [each.name, each])), [past]);
  // The remaining rows are drawn in the next frames, from the top: all at once would block the page for seconds.
  useEffect(() => {
    if (drawn < queues.length) requestAnimationFrame(() => setDrawn(drawn + ROWS.more));
  }, [drawn, queues.length]);

  const sorted = byTrouble(queues, incidents);
  const users = sorted.filter((queue) => !queue.own);
  const own = sorted.filter((queue) => queue.own);
  const isOwnShown = isOwnChosen ?? own.some((queue) => troublesOf(queue, incidents).length > 0);
  const named = users.filter(({ name }) => name.toLowerCase().includes(part.trim().toLowerCase()));
  return html`
    <div class="head">
      <h1>Queues</h1>
      <p class="summary">${summary(users)} · ${asOf(at)}</p>
    </div>
    ${reasons.map((reason) => html`<p class="health bad">${reason.charAt(0).toUpperCase()}${reason.slice(1)}.</p>`)}
    ${incidentList(incidents)}
    ${users.length > 0 && incidents.length === 0 && html`<p class="health good">${allWell(users)}</p>`}
    ${past && chartsOf(charts(past, users, at))}
    ${users.length > 1 && search(part, setPart, users.length === named.length ? "" : `${count(named.length)} of ${count(users.length)} queues`)}
    ${users.length === 0 ? empty() : queueTable("Queues", named, series, drawn)}
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
          ${isOwnShown && queueTable("The server’s own queues", own, series, drawn)}
        </section>`
    }`;
}

/**
 * The field that filters queues by their names, as it is typed; the address has it once it is left.
 * @param {string} part
 * @param {(part: string) => void} setPart
 * @param {string} told
 */
function search(part, setPart, told) {
  const typed = (/** @type {Event} */ { target }) => (target instanceof HTMLInputElement ? target.value : "");
  return html`
    <div class="toolbar">
      <form class="filters" aria-label="Filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
        <input type="search" name="name" placeholder="Filter by name" aria-label="Filter by name" autocomplete="off" spellcheck=${false}
          value=${part} onInput=${(/** @type {Event} */ event) => setPart(typed(event))}
          onChange=${(/** @type {Event} */ event) => choose({ name: typed(event).trim() })} />
      </form>
      <span class="summary" role="status">${told}</span>
    </div>`;
}

/** @param {readonly Queue[]} queues */
function summary(queues) {
  /** @param {(queue: Queue) => number} figure */
  const sum = (figure) => total(queues.map(figure));
  const dead = sum((queue) => queue.dead);
  const running = sum((queue) => queue.running);
  const slots = slotsBeside({ running, slots: sum((queue) => queue.slots) });
  const parts = [
    `${count(sum((queue) => queue.waiting))} waiting`,
    `${count(running)} running${slots === null ? "" : ` of ${counted(slots, "slot")}`}`,
    `${count(sum((queue) => queue.scheduled))} scheduled`,
  ];
  return html`${parts.join(" · ")} · <span class=${dead > 0 ? "bad" : ""}>${count(dead)} dead</span>`;
}

/**
 * What was, and at its end the moment of the figures above.
 * @param {import("../api.js").History} past
 * @param {readonly Queue[]} present
 * @param {Date} now
 */
function charts({ at, step, queues, deploys }, present, now) {
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
  const failed = sum("failed");
  /** @param {string} title @param {readonly number[]} at @param {(value: number | null) => string} format @param {readonly import("../parts/chart.js").Line[]} lines */
  const draw = (title, at, format, lines) => chart(title, at, format, lines, deploys);
  return [
    draw("Waiting", [...at, now.getTime() / 1000], count, [{ name: "waiting", values: [...sum("waiting"), waiting] }]),
    draw("Tasks per second", at, rate, [
      { name: "failed", values: perSecond(failed), color: "bad" },
      { name: "done", values: perSecond(sum("finished").map((ended, i) => ended - (failed[i] ?? 0))), color: "good" },
      { name: "started", values: perSecond(sum("started")), color: "accent" },
    ]),
    draw("Wait, p95", at, duration, byQueue("waitP95")),
    draw("Service time, p95", at, duration, byQueue("serviceP95")),
  ];
}

/** @param {readonly number[]} values */
const total = (values) => values.reduce((sum, value) => sum + value, 0);

const empty = () => html`
  <div class="empty">
    <p>This server has no queues yet. Each handler in the folder HANDLERS makes one:</p>
    <pre>npx paihao init my-queues</pre>
  </div>`;
