/** The workers: where they are, what each runs, and when each was last seen. */

import { count, counted, duration } from "../../../../../words/numbers.ts";
import { slotsBeside } from "../../../../../words/queue-health.ts";
import { html } from "../../preact.js";
import { now } from "../../server.js";
import { paths } from "../address.js";
import { ask } from "../api.js";
import { useDesk } from "../desk.js";
import { ago, asOf, moment, secondsSince, taskLink } from "../parts/format.js";
import { row, table } from "../parts/table.js";
import { View } from "./view.js";

/** @typedef {import("../api.js").Worker} Worker */
/** @typedef {{ items: Worker[], truncated: boolean, at: Date }} Known */

/** A worker not seen for this long may be gone. */
const SILENT_S = 30;
/** How many tasks of a worker are named. */
const MAX_TASKS = 8;

const COLUMNS = [
  { name: "Worker" },
  { name: "Host" },
  { name: "Role" },
  { name: "Version" },
  { name: "Up for", number: true },
  { name: "Last seen", number: true },
  { name: "Busy", number: true },
  { name: "Queues", wide: true },
  { name: "Running", wide: true },
  { name: "Actions" },
];

export const Workers = () => html`
  <${View} title="Workers" load=${load}>${shown}<//>`;

/** @param {AbortSignal} signal @returns {Promise<Known>} */
async function load(signal) {
  return { ...(await ask("/v1/workers", { signal })), at: now() };
}

/** @param {Known} known */
function shown({ items, truncated, at }) {
  const present = items.filter(({ lostAt }) => lostAt === null);
  const lost = items.filter(({ lostAt }) => lostAt !== null);
  const slots = present.reduce((sum, worker) => sum + slotsOf(worker), 0);
  const running = items.reduce((sum, worker) => sum + worker.running.length, 0);
  return html`
    <div class="head">
      <h1>Workers</h1>
      <p class="summary">
        ${counted(present.length, "worker")} · ${beside(running, slots)} slots busy · ${asOf(at)}
      </p>
    </div>
    ${present.length === 0 ? nobody() : workerTable("Workers", present)}
    ${lost.length > 0 && lostOnes(lost)}
    ${truncated && html`<p class="hint">Not all running tasks are shown.</p>`}`;
}

/** @param {string} caption @param {readonly Worker[]} workers */
const workerTable = (caption, workers) =>
  table(
    caption,
    COLUMNS,
    workers.map((worker) => row(worker.id, COLUMNS, cells(worker))),
  );

/** Those of the last hour in one line, which opens to all of them. @param {readonly Worker[]} lost the latest first */
function lostOnes(lost) {
  const [latest] = [...lost].sort((a, b) => Date.parse(b.lostAt ?? "") - Date.parse(a.lostAt ?? ""));
  return html`
    <details class="lost">
      <summary class="bad">${counted(lost.length, "worker")} lost in the last hour, the latest ${latest?.lostAt && ago(latest.lostAt)}</summary>
      ${workerTable("Lost workers", lost)}
    </details>`;
}

/** @param {number} running @param {number} slots */
function beside(running, slots) {
  const told = slotsBeside({ running, slots });
  return told === null ? count(running) : `${count(running)} / ${count(told)}`;
}

/** @param {Worker} worker */
const slotsOf = ({ slots }) => Object.values(slots).reduce((sum, number) => sum + number, 0);

/** @param {Worker} worker */
function cells(worker) {
  const { id, kind, host, pid, role, version, appVersion, startedAt, seenAt, lostAt, slots, quiet, running } = worker;
  const silence = seenAt === null ? null : secondsSince(seenAt);
  const more = running.length - MAX_TASKS;
  return [
    html`
      <span class="id whole">${id}</span>
      ${kind === "remote" && html`<span class="badge" title="Takes work over HTTP">remote</span>`}
      ${quiet && html`<span class="badge warn" title="It takes no more work">quiet</span>`}
      ${lostAt !== null && html`<span class="badge bad" title="Found lost at ${moment(lostAt)}; listed for an hour">lost</span>`}
      ${
        kind === "silent" &&
        lostAt === null &&
        html`<span class="badge warn" title="It has tasks, but has sent no heartbeat lately">silent</span>`
      }`,
    host === null
      ? "–"
      : html`<span class="whole">${host}${pid !== null && html`<span class="hint"> · ${pid}</span>`}</span>`,
    html`<span class="whole">${role ?? "–"}</span>`,
    html`<span class="whole" title=${version === null ? null : `Paihao ${version}`}>${appVersion ?? version ?? "–"}</span>`,
    startedAt === null || lostAt !== null ? "–" : duration(Math.round(secondsSince(startedAt))),
    silence === null || seenAt === null
      ? lostAt === null
        ? "–"
        : html`<span class="bad">lost ${ago(lostAt)}</span>`
      : html`
        <time datetime=${seenAt} title=${moment(seenAt)} class=${silence > SILENT_S ? "warn" : ""}>
          ${duration(Math.round(silence))} ago
        </time>`,
    beside(running.length, slotsOf(worker)),
    html`
      <span class="chips">
        ${Object.entries(slots).map(
          ([queue, number]) => html`<a key=${queue} href=${paths.queue(queue)}>${queue} ${number}</a>`,
        )}
      </span>`,
    running.length === 0
      ? "–"
      : html`
        <span class="chips">
          ${running.slice(0, MAX_TASKS).map(({ id }) => taskLink({ id }))}
          ${more > 0 && html`<span class="hint">and ${more} more</span>`}
        </span>`,
    worker.actions.length > 0 ? html`<${QuietButton} worker=${worker} />` : "–",
  ];
}

/** @param {{ worker: Worker }} props */
function QuietButton({ worker: { id, quiet } }) {
  const desk = useDesk();
  const act = () =>
    desk.act(async () => {
      await ask(`/v1/workers/${encodeURIComponent(id)}/quiet`, { method: "POST", json: { quiet: !quiet } });
      return quiet ? `${id} takes work again.` : `${id} ends what it has, and takes no more.`;
    });
  const verb = quiet ? "Resume" : "Quiet";
  return html`<button type="button" onClick=${act} aria-label="${verb} ${id}">${verb}</button>`;
}

const nobody = () => html`
  <div class="empty">
    <p>No workers: tasks are accepted, but nothing runs them. To start one beside this server:</p>
    <pre>npx paihao start --role worker</pre>
  </div>`;
