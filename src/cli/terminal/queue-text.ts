import type { Queue } from "../../wire/queue.ts";
import { allowed, counted, duration } from "../../words/numbers.ts";
import { allowance, slotsBeside } from "../../words/queue-health.ts";
import { plain } from "./print.ts";
import type { Column } from "./table.ts";

/** The figures of queues in a table. */
export const QUEUE_COLUMNS: readonly Column<Queue>[] = [
  { title: "QUEUE", value: ({ name }) => name, cut: { where: "middle", min: 10 } },
  { title: "WAITING", short: "WAIT", value: ({ waiting }) => waiting },
  { title: "RUNNING", short: "RUN", value: ({ running }) => running },
  { title: "SLOTS", value: slotsBeside, rank: 5 },
  { title: "SCHEDULED", short: "SCHED", value: ({ scheduled }) => scheduled, rank: 3 },
  { title: "DEAD", value: ({ dead }) => dead },
  { title: "DONE/S", value: ({ rate }) => round(rate.finished), rank: 4 },
  { title: "TAKES", value: ({ serviceTime }) => optionalDuration(serviceTime.mean), rank: 2 },
  { title: "NEW STARTS IN", short: "STARTS", value: ({ eta }) => optionalDuration(eta?.seconds ?? null), rank: 1 },
  { title: "STATE", value: (queue) => remark(queue), cut: { where: "end", min: 9 }, early: true },
  { title: "ALLOWED", value: allowance, rank: 6, early: true },
];

/** One queue in lines. */
export function queueLines(queue: Queue): string[] {
  const { rate, serviceTime, eta } = queue;
  const rows: readonly [string, string | number | null][] = [
    ["queue", [queue.name, remark(queue)].filter((part) => part !== "").join(": ")],
    ["waiting", queue.waiting],
    ["running", runningText(queue)],
    ["scheduled", queue.scheduled],
    ["dead", queue.dead],
    ["oldest waits", optionalDuration(queue.oldestWaitingSeconds)],
    ["last minute", `${round(rate.accepted)} accepted and ${round(rate.finished)} done per second`],
    ["a task takes", serviceTime.mean === null ? null : `${duration(serviceTime.mean)} on average`],
    ["a new one starts in", optionalDuration(eta?.seconds ?? null)],
    ["allowed", queue.settings.rate.now && `${allowed(queue.settings.rate.now)}, over all workers${setRate(queue)}`],
    ["concurrency", setConcurrency(queue)],
    ["order", queue.order],
    ["of one caller", limitText(queue)],
    ["slots wanted", queue.slotsWanted],
    ["takes", queue.consumes.join(", ")],
    ["input", queue.input === null ? "anything" : JSON.stringify(queue.input)],
  ];
  return fieldLines(rows);
}

/** What the handler declares, where an operator has set another rate. */
function setRate({ settings: { rate } }: Queue): string {
  if (rate.declared?.max === rate.now?.max && rate.declared?.per === rate.now?.per) return "";
  return rate.declared ? ` (${allowed(rate.declared)} declared)` : " (none declared)";
}

/** Null where it is as the handler declares it. */
function setConcurrency({ settings: { concurrency } }: Queue): string | null {
  const { declared, now } = concurrency;
  return now === declared ? null : `${now} in each worker process${declared === null ? "" : ` (${declared} declared)`}`;
}

function runningText(queue: Queue): string {
  const slots = slotsBeside(queue);
  const workers = counted(queue.workers, "worker");
  return slots === null
    ? `${queue.running} of ${workers}`
    : `${queue.running} in ${counted(slots, "slot")} of ${workers}`;
}

/** "at most 20 waiting, 2 running"; null without limits. */
function limitText({ limit }: Queue): string | null {
  if (!limit) return null;
  const parts = Object.entries(limit).flatMap(([what, most]) => (most === null ? [] : [`${most} ${what}`]));
  return `at most ${parts.join(", ")}`;
}

/** Names and values, one per line; names without a value are left out. */
export function fieldLines(rows: readonly (readonly [name: string, value: string | number | null])[]): string[] {
  const shown = rows.filter(([, value]) => value !== null);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${plain(String(value))}`);
}

function remark({ orphaned, paused, resting, workers }: Queue): string {
  if (orphaned) return "orphaned: no process has its handler";
  if (paused) return "paused";
  if (resting) return `circuit breaker open: ${resting.reason}`;
  return workers === 0 ? "no worker" : "";
}

const round = (value: number): number => Math.round(value * 100) / 100;

const optionalDuration = (seconds: number | null): string | null => (seconds === null ? null : duration(seconds));
