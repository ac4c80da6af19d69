import { type Command, InvalidArgumentError } from "commander";
import type { Incident, Incidents } from "../../wire/operations.ts";
import type { AdjustBody, Queue, Queues } from "../../wire/queue.ts";
import { allowed, count, counted, duration } from "../../words/numbers.ts";
import { allowance, doneRate, hasNoWorker, slotsBeside } from "../../words/queue-health.ts";
import { wholeWithin } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { wrongUsage } from "../exit.ts";
import { ask, connectionTo, queuePath } from "../server.ts";
import { note, paint, plain, print, printJson, printJsonLine } from "../terminal/print.ts";
import { type Column, cut, fieldLines, printTable } from "../terminal/table.ts";

/** `paihao queues`: all queues, or the figures of one; `queues set` changes what holds one. */
export function queuesCommand(): Command {
  return clientCommand("queues [queue]", "list the queues, or show one", [
    "paihao queues",
    "paihao queues default",
    "paihao queues set default --concurrency 4",
  ])
    .action(
      clientAction(async (options: ClientOptions, queue: string | undefined) => {
        const connection = connectionTo(options);
        if (queue === undefined) {
          const { items } = await ask<Queues>(connection, "/v1/queues");
          if (options.json) {
            for (const item of items) printJsonLine(item);
            return undefined;
          }
          const incidents = await ask<Incidents>(connection, "/v1/incidents");
          // Not to stdout, where programs expect a line for each queue.
          for (const line of incidentLines(incidents.items)) note(line);
          printTable(QUEUE_COLUMNS, items);
          return undefined;
        }
        const found = await ask<Queue>(connection, queuePath(queue));
        if (options.json) printJson(found);
        else for (const line of queueLines(found)) print(line);
        return undefined;
      }),
    )
    .addCommand(setCommand());
}

/** What is wrong, a sentence each, with what to do about it; at most so many lines, of at most this width. */
export function incidentLines(
  incidents: readonly Incident[],
  { most = Number.POSITIVE_INFINITY, width = Number.POSITIVE_INFINITY } = {},
): string[] {
  const lines = incidents
    .slice(0, most)
    .map(({ level, text, advice }) =>
      paint(level === "red" ? "red" : "yellow", cut(plain(`${text}. ${advice}`), width)),
    );
  return incidents.length > most ? [...lines, `and ${count(incidents.length - most)} more: paihao queues`] : lines;
}

/** The word for what the handler declares. */
const DECLARED = "declared";

interface SetOptions extends ClientOptions {
  readonly concurrency?: number | typeof DECLARED;
  readonly total?: number | typeof DECLARED;
  readonly rate?: NonNullable<AdjustBody["rate"]> | typeof DECLARED;
}

function setCommand(): Command {
  return clientCommand("set <queue>", "change how many of a queue run at a time, or may start", [
    "paihao queues set default --concurrency 4",
    "paihao queues set gpu --total 2",
    "paihao queues set default --rate 5/1s",
    "paihao queues set default --rate declared --concurrency declared",
  ])
    .option("--concurrency <n>", "tasks at a time in each worker process; declared: as the handler says", readSlots)
    .option("--total <n>", "tasks or turns at a time over all processes; declared: as its declaration says", readSlots)
    .option("--rate <rate>", "starts in a time over all workers, e.g. 5/1s; declared: as the handler says", readRate)
    .action(
      clientAction(async ({ concurrency: each, total, rate, ...options }: SetOptions, queue: string) => {
        const isGiven = each !== undefined || total !== undefined;
        const body = { ...(isGiven && { concurrency: { each, total } }), rate };
        const given = JSON.stringify(body, (_, value) => (value === DECLARED ? null : value));
        if (given === "{}") throw wrongUsage("say what: --concurrency N, --total N or --rate 5/1s");
        const headers = { "Content-Type": "application/json" };
        const request = { method: "PATCH", headers, body: given };
        const found = await ask<Queue>(connectionTo(options), queuePath(queue), request);
        if (options.json) printJson(found);
        else for (const line of queueLines(found)) print(line);
        return undefined;
      }),
    );
}

function readSlots(value: string): number | typeof DECLARED {
  return value === DECLARED ? value : wholeWithin(1, 1_000_000)(value);
}

function readRate(value: string): SetOptions["rate"] {
  if (value === DECLARED) return value;
  const [, max, per = ""] = /^(\d{1,6})\/(.+)$/.exec(value) ?? [];
  if (max === undefined) throw new InvalidArgumentError("expected a number and a time, such as 5/1s.");
  return { max: Number(max), per };
}

/** The figures of queues in a table. */
export const QUEUE_COLUMNS: readonly Column<Queue>[] = [
  { title: "QUEUE", value: ({ name }) => name, cut: { where: "middle", min: 10 } },
  { title: "WAITING", short: "WAIT", value: ({ waiting }) => waiting },
  { title: "RUNNING", short: "RUN", value: ({ running }) => running },
  { title: "SLOTS", value: slotsBeside, rank: 5 },
  { title: "SCHEDULED", short: "SCHED", value: ({ scheduled }) => scheduled, rank: 3 },
  { title: "DEAD", value: ({ dead }) => dead },
  { title: "FAILED/S", short: "FAIL/S", value: ({ rate }) => round(rate.failed), rank: 4 },
  { title: "DONE/S", value: (queue) => round(doneRate(queue)), rank: 4 },
  { title: "TAKES", value: ({ serviceTime }) => optionalDuration(serviceTime.mean), rank: 2 },
  { title: "NEW STARTS IN", short: "STARTS", value: ({ eta }) => optionalDuration(eta?.seconds ?? null), rank: 1 },
  { title: "STATE", value: (queue) => remark(queue), cut: { where: "end", min: 9 }, early: true },
  { title: "ALLOWED", value: allowance, rank: 6, early: true },
  { title: "TOTAL", value: ({ settings }) => settings.total.now, rank: 7, early: true },
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
    [
      "last minute",
      `${round(rate.accepted)} accepted, ${round(doneRate(queue))} done and ${round(rate.failed)} failed per second`,
    ],
    [`a ${nounOf(queue)} takes`, serviceTime.mean === null ? null : `${duration(serviceTime.mean)} on average`],
    ["a new one starts in", optionalDuration(eta?.seconds ?? null)],
    ["allowed", queue.settings.rate.now && `${allowed(queue.settings.rate.now)}, over all workers${setRate(queue)}`],
    ["concurrency", setConcurrency(queue)],
    ["total", totalText(queue)],
    [`longest ${nounOf(queue)}`, queue.turns && optionalDuration(queue.turns.longest)],
    ["order", queue.order],
    ["of one caller", limitText(queue)],
    ["slots wanted", queue.slotsWanted],
    ["takes", queue.consumes.join(", ") || null],
    ["input", inputText(queue)],
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

/** Null where it takes none, but has a way in of its own. */
function inputText({ consumes, input }: Queue): string | null {
  if (consumes.length === 0) return null;
  return input === null ? "anything" : JSON.stringify(input);
}

/** What its tasks are, to people. */
function nounOf({ turns }: Pick<Queue, "turns">): string {
  if (turns === null) return "task";
  return turns.door ? "request" : "turn";
}

/** How many run at a time over all processes; null for any number. */
function totalText(queue: Queue): string | null {
  const { declared, now } = queue.settings.total;
  if (now === null) return null;
  const text = `${counted(now, nounOf(queue))} at a time, over all processes`;
  return now === declared ? text : `${text} (${declared ?? "none"} declared)`;
}

function runningText(queue: Queue): string {
  const slots = slotsBeside(queue);
  if (queue.turns)
    return slots === null ? String(queue.running) : `${queue.running} of ${counted(slots, nounOf(queue))}`;
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

function remark(queue: Queue): string {
  const { orphaned, paused, resting } = queue;
  if (orphaned) return "orphaned: no process has its handler";
  if (paused) return "paused";
  if (resting) return `circuit breaker open: ${resting.reason}`;
  return hasNoWorker(queue) ? "no worker" : "";
}

const round = (value: number): number => Math.round(value * 100) / 100;

const optionalDuration = (seconds: number | null): string | null => (seconds === null ? null : duration(seconds));

/** `paihao pause` and `paihao resume`. */
export function pauseCommands(): Command[] {
  return [
    clientCommand("pause <queue>", "start no more tasks of a queue", ["paihao pause default"]).action(
      clientAction((options: ClientOptions, queue: string) => act(options, queue, "pause")),
    ),
    clientCommand("resume <queue>", "start tasks of a paused queue again", ["paihao resume default"]).action(
      clientAction((options: ClientOptions, queue: string) => act(options, queue, "resume")),
    ),
  ];
}

async function act(options: ClientOptions, queue: string, verb: "pause" | "resume"): Promise<undefined> {
  const path = `${queuePath(queue)}/${verb}`;
  const found = await ask<Queue>(connectionTo(options), path, { method: "POST" });
  if (options.json) printJson(found);
  const waiting = `${counted(found.waiting, "task")} ${found.waiting === 1 ? "waits" : "wait"}`;
  if (found.paused)
    note(`${queue} is paused: ${waiting}, and ${found.running} still run; to continue: paihao resume ${queue}`);
  else note(`${queue} is running: ${waiting}`);
  return undefined;
}
