/** Queues in a table, which can be sorted by its columns. */

import { count, duration, rate } from "../../../../../words/numbers.ts";
import { allowance, doneRate, hasNoWorker, slotsBeside } from "../../../../../words/queue-health.ts";
import { html, useEffect, useMemo, useState } from "../../preact.js";
import { choose, options, paths } from "../address.js";
import { useDesk } from "../desk.js";
import { shownSpan, sparkline } from "../parts/chart.js";
import { eta } from "../parts/format.js";
import { row, table } from "../parts/table.js";
import { badges, pauseButton } from "./queue-actions.js";

/** @typedef {import("../api.js").Queue} Queue */
/** @typedef {import("../api.js").Series} Series */
/** @typedef {import("../parts/table.js").Order} Order */
/**
 * @typedef {import("../parts/table.js").Column & { id?: string, of?: (queue: Queue) => string | number | null }} Column
 *   `of`: what it is sorted by, which the address calls `id`
 */

/** New history is shown in this many rows at a time, this far apart, ms: each step lays out the whole table anew. */
const HOUR = { rows: 400, stepMs: 100 };

/** @type {readonly Column[]} */
const COLUMNS = [
  { name: "Queue", brief: true, id: "name", of: ({ name }) => name },
  { name: "Waiting lately", hidden: true },
  { name: "Waiting", number: true, brief: true, id: "waiting", of: ({ waiting }) => waiting },
  { name: "Running / slots", number: true, brief: true, id: "running", of: ({ running }) => running },
  { name: "In / s", number: true, id: "in", of: ({ rate }) => rate.accepted },
  { name: "Failed / s", number: true, id: "failed", of: ({ rate }) => rate.failed },
  { name: "Out / s", number: true, id: "out", of: doneRate },
  { name: "Expected wait", number: true, id: "wait", of: ({ eta }) => eta?.seconds ?? null },
  { name: "Oldest wait", number: true, id: "oldest", of: ({ oldestWaitingSeconds }) => oldestWaitingSeconds },
  { name: "Service time", number: true, id: "service", of: ({ serviceTime }) => serviceTime.mean },
  { name: "Dead", number: true, brief: true, id: "dead", of: ({ dead }) => dead },
  { name: "Figures", hidden: true, brief: true },
  { name: "Actions", hidden: true },
];

/** The column that the address names, with a "-" for the other direction; null for the order of trouble. @returns {Order} */
function chosenOrder() {
  const [, minus, id] = /^(-?)(\w+)$/.exec(options().get("sort") ?? "") ?? [];
  const by = COLUMNS.find((column) => column.id !== undefined && column.id === id);
  return by ? { by, isDescending: (minus === "-") !== Boolean(by.number) } : null;
}

/** Names begin with the first, figures with the largest; then the other direction, then trouble first. @param {Column} column */
function sortBy(column) {
  const { id = null } = column;
  const now = options().get("sort");
  choose({ sort: now === id ? `-${id}` : now === `-${id}` ? null : id });
}

/**
 * In the order of the address; queues without such a figure are last.
 * @param {readonly Queue[]} queues
 * @param {Order} order
 * @returns {readonly Queue[]}
 */
function sorted(queues, order) {
  const of = COLUMNS.find((column) => column === order?.by)?.of;
  if (!order || !of) return queues;
  const sign = order.isDescending ? -1 : 1;
  return [...queues].sort((a, b) => {
    const [one, other] = [of(a), of(b)];
    if (one === other) return 0;
    if (one === null || other === null) return one === null ? 1 : -1;
    return one < other ? -sign : sign;
  });
}

/**
 * @param {string} caption
 * @param {readonly Queue[]} queues those that need attention first
 * @param {ReadonlyMap<string, Series>} series
 * @param {number} drawn how many rows are drawn
 */
export function queueTable(caption, queues, series, drawn) {
  const order = chosenOrder();
  const rows = sorted(queues, order)
    .slice(0, drawn)
    .map(
      (queue, place) => html`
        <${QueueRow} key=${queue.name} queue=${queue} place=${place} series=${series.get(queue.name)} />`,
    );
  return table(caption, COLUMNS, rows, { order, onSort: sortBy, can: (column) => "of" in column });
}

/**
 * The row of a queue. It is drawn again only if something has changed; new history also arrives step by step.
 * @param {{ queue: Queue, place: number, series: Series | undefined }} props
 */
function QueueRow({ queue, place, series }) {
  const desk = useDesk();
  const [shown, setShown] = useState(series);
  const [isOpen, open] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(series), Math.floor(place / HOUR.rows) * HOUR.stepMs);
    return () => clearTimeout(timer);
  }, [series]);
  const unfold = html`
    <button type="button" class="quiet unfold" aria-expanded=${isOpen} aria-label="Figures of ${queue.name}" onClick=${() => open(!isOpen)} />`;
  return useMemo(
    () => row(queue.name, COLUMNS, cells(queue, shown, unfold, desk), isOpen),
    [JSON.stringify(queue), shown, isOpen],
  );
}

/**
 * @param {Queue} queue
 * @param {Series | undefined} series
 * @param {import("../../preact.js").Content} unfold
 * @param {import("../desk.js").Desk} desk
 */
const cells = (queue, series, unfold, desk) => [
  html`<a href=${paths.queue(queue.name)} class="name">${queue.name}</a>${badges(queue)}`,
  series && sparkline(series.waiting, `${queue.name}, waiting in ${shownSpan().inWords}`),
  html`
    <span>
      ${count(queue.waiting)}${queue.settings.rate.now && html`<small class="hint" title="What the rate allows"> · ${allowance(queue)}</small>`}
    </span>`,
  running(queue),
  rate(queue.rate.accepted),
  html`<span class=${queue.rate.failed > 0 ? "bad" : null}>${rate(queue.rate.failed)}</span>`,
  rate(doneRate(queue)),
  hasNoWorker(queue) && queue.eta === null ? html`<span class="warn">no workers</span>` : eta(queue.eta),
  duration(queue.oldestWaitingSeconds),
  duration(queue.serviceTime.mean),
  queue.dead === 0 ? "0" : html`<a href=${paths.queue(queue.name, "dead")} class="bad">${count(queue.dead)}</a>`,
  unfold,
  pauseButton(queue, desk, "quiet"),
];

/** @param {Queue} queue */
function running(queue) {
  const slots = slotsBeside(queue);
  if (slots === null)
    return html`<span title="More tasks than slots: several in one call, or workers have gone">${count(queue.running)}</span>`;
  return html`<span><span class=${slots > 0 && queue.running === slots ? "full" : ""}>${count(queue.running)}</span>${" / "}${count(slots)}</span>`;
}
