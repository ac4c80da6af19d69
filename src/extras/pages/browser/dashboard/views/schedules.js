/** What is submitted by the clock: when each schedule is due next, and what became of the last time. */

import { counted } from "../../../../../words/numbers.ts";
import { html } from "../../preact.js";
import { paths } from "../address.js";
import { ask } from "../api.js";
import { useDesk } from "../desk.js";
import { ago, moment, time, zone } from "../parts/format.js";
import { row, table } from "../parts/table.js";
import { View } from "./view.js";

/** @typedef {import("../api.js").Schedule} Schedule */

const COLUMNS = [
  { name: "Schedule" },
  { name: "Queue" },
  { name: "Due" },
  { name: "Next", wide: true },
  { name: "Last" },
  { name: "Lately" },
  { name: "Actions", hidden: true },
];

/** @param {AbortSignal} signal */
async function load(signal) {
  const [page, access] = await Promise.all([ask("/v1/schedules?limit=200", { signal }), ask("/v1/access", { signal })]);
  return { ...page, isAdmin: access.scopes.includes("admin") };
}

export const Schedules = () => html`<${View} title="Schedules" load=${load}>${shown}<//>`;

/** @param {{ items: Schedule[], next: string | null, isAdmin: boolean }} page */
function shown({ items, next, isAdmin }) {
  return html`
    <div class="head"><h1>Schedules</h1><p class="summary">${counted(items.length, "schedule")} · ${zone()}</p></div>
    ${
      items.length === 0
        ? html`<div class="empty"><p>Nothing is submitted by the clock. To change that:</p>
            <pre>npx paihao schedules set --help</pre></div>`
        : table(
            "Schedules",
            COLUMNS,
            items.map((schedule) => row(schedule.id, COLUMNS, cells(schedule, isAdmin))),
          )
    }
    ${next !== null && html`<p class="hint">More of them: <code>GET /v1/schedules</code></p>`}`;
}

/** @param {Schedule} schedule @param {boolean} isAdmin */
function cells(schedule, isAdmin) {
  const { id, queue, cron, every, timeZone, next, last, history, paused, declared, orphan } = schedule;
  return [
    html`
      <span class="id whole">${id}</span>
      ${paused && html`<span class="badge warn">paused</span>`}
      ${orphan && html`<span class="badge warn" title="No live process declares it: it submits nothing">orphan</span>`}
      ${declared && !orphan && html`<span class="badge" title="Its handler declares it">declared</span>`}`,
    html`<a href=${paths.queue(queue)}>${queue}</a>`,
    cron === undefined ? `every ${every}` : html`<span><code>${cron}</code> ${timeZone}</span>`,
    next.length === 0 ? "–" : html`<span class="chips">${next.map(time)}</span>`,
    last === null ? "–" : html`<span>${outcome(last)} ${ago(last.at)}</span>`,
    history.length === 0 ? "–" : html`<span class="lately">${[...history].reverse().map(past)}</span>`,
    isAdmin && html`<${Buttons} schedule=${schedule} />`,
  ];
}

/** What became of a due time. @param {NonNullable<Schedule["last"]>} last */
function outcome({ id, state }) {
  if (state === "skipped") return state;
  if (state === "refused" || state === "missed") return html`<span class="bad">${state}</span>`;
  return html`<a href=${paths.task(id)} class="inline ${state === "failed" ? "bad" : ""}">${state ?? "gone"}</a>`;
}

/** A mark for each outcome, and its colour. @type {Readonly<Record<string, readonly [string, string | null]>>} */
const MARKS = {
  succeeded: ["✓", "good"],
  failed: ["✗", "bad"],
  canceled: ["–", null],
  skipped: ["–", null],
  missed: ["!", "bad"],
  refused: ["!", "bad"],
};

/** @param {Schedule["history"][number]} time */
function past({ id, at, state }) {
  const [mark = "·", color = null] = MARKS[state ?? ""] ?? [];
  const told = `${moment(at)}: ${state ?? "not ended"}`;
  if (state === "skipped" || state === "missed" || state === "refused")
    return html`<span key=${at} class=${color} role="img" title=${told} aria-label=${told}>${mark}</span>`;
  return html`<a key=${at} class=${color} href=${paths.task(id)} title=${told} aria-label=${told}>${mark}</a>`;
}

/** @param {{ schedule: Schedule }} props */
function Buttons({ schedule }) {
  const desk = useDesk();
  const { id, declared: _, orphan, next: __, last: ___, history: ____, ...sent } = schedule;
  const path = `/v1/schedules/${encodeURIComponent(id)}`;
  const verb = sent.paused ? "Resume" : "Pause";
  const pause = () =>
    desk.act(async () => {
      await ask(path, { method: "PUT", json: { ...sent, paused: !sent.paused } });
      return sent.paused ? `${id} is on again.` : `${id} is paused: it submits nothing.`;
    });
  const run = () =>
    desk.act(async () => {
      const task = await ask(`${path}/run`, { method: "POST" });
      return `${task.id} is submitted to ${sent.queue}.`;
    });
  return html`
    <span class="buttons">
      <button type="button" onClick=${run} aria-label="Run now: ${id}">Run now</button>
      ${!orphan && html`<button type="button" onClick=${pause} aria-label="${verb} ${id}">${verb}</button>`}
    </span>`;
}
