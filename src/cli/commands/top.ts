import { setTimeout as sleep } from "node:timers/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Connection } from "../../client/connection.ts";
import type { Incident, Incidents } from "../../wire/operations.ts";
import type { Queue, Queues } from "../../wire/queue.ts";
import { counted } from "../../words/numbers.ts";
import { allWell, byTrouble, troublesOf } from "../../words/queue-health.ts";
import { DURATION_HELP, readTimeout } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { EXIT, type ExitCode, failureOf } from "../exit.ts";
import { ask, connectionTo } from "../server.ts";
import { note, paint, printJsonLine } from "../terminal/print.ts";
import { canDraw, Screen } from "../terminal/screen.ts";
import { cut, printTable, tableLines } from "../terminal/table.ts";
import { incidentLines, QUEUE_COLUMNS } from "./queues.ts";

const SHORTEST_MS = 100;

interface TopOptions extends ClientOptions {
  readonly interval: number;
  readonly once?: boolean;
}

/** `paihao top`: all queues, live. */
export function topCommand(): Command {
  return clientCommand("top", "show all queues, live", ["paihao top", "paihao top --once", "paihao top --once --json"])
    .addOption(
      new Option("--interval <time>", `time between two refreshes: ${DURATION_HELP}`)
        .argParser(readInterval)
        .default(1000, "1s"),
    )
    .option("--once", "print once and exit, as when stdout is not a terminal")
    .action(clientAction(run));
}

function readInterval(value: string): number {
  const ms = readTimeout(value);
  if (ms < SHORTEST_MS) throw new InvalidArgumentError(`expected at least ${SHORTEST_MS}ms.`);
  return ms;
}

async function run(options: TopOptions): Promise<ExitCode> {
  const connection = connectionTo(options);
  const first = await look(connection);
  if (options.json) {
    printJsonLine(first);
    while (!options.once) {
      await sleep(options.interval);
      printJsonLine(await look(connection));
    }
    return EXIT.done;
  }
  if (options.once || !canDraw(process.stdout)) {
    for (const line of incidentLines(first.incidents)) note(line);
    printTable(QUEUE_COLUMNS, first.items);
    return EXIT.done;
  }
  return live(connection, options.interval, first);
}

async function look(connection: Connection): Promise<TopFigures> {
  const [{ items }, { items: incidents }] = await Promise.all([
    ask<Queues>(connection, "/v1/queues"),
    ask<Incidents>(connection, "/v1/incidents"),
  ]);
  return { time: new Date().toISOString(), items, incidents };
}

async function live(connection: Connection, intervalMs: number, first: TopFigures): Promise<ExitCode> {
  const screen = new Screen(process.stdout);
  let seen = first;
  let problem = "";
  let offset = 0;
  const view = () => ({ ...seen, url: connection.url, problem, offset });
  const draw = () => screen.draw(topLines(view(), screen.size));
  const { signal, end } = keysPressed((move) => {
    const max = lastOffset(view(), screen.size);
    offset = Math.min(max, Math.max(0, Math.min(offset, max) + move(pageOf(view(), screen.size))));
    draw();
  });
  process.stdout.on("resize", draw);
  try {
    for (;;) {
      draw();
      await sleep(intervalMs, undefined, { signal });
      try {
        seen = await look(connection);
        problem = "";
      } catch (error) {
        // Go on, since the server may be restarting.
        problem = failureOf(error).message ?? "";
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return signal.reason as ExitCode;
  } finally {
    process.stdout.removeListener("resize", draw);
    end();
    screen.close();
  }
}

/** How many queues a key scrolls, given how many fit on the screen. */
type Move = (page: number) => number;

const MOVES: ReadonlyMap<string, Move> = new Map<string, Move>([
  ...["\x1b[A", "\x1bOA", "k"].map((key) => [key, () => -1] as const),
  ...["\x1b[B", "\x1bOB", "j"].map((key) => [key, () => 1] as const),
  ["\x1b[5~", (page) => -page],
  ...["\x1b[6~", " "].map((key) => [key, (page: number) => page] as const),
  ...["\x1b[H", "\x1bOH", "\x1b[1~", "g"].map((key) => [key, () => Number.NEGATIVE_INFINITY] as const),
  ...["\x1b[F", "\x1bOF", "\x1b[4~", "G"].map((key) => [key, () => Number.POSITIVE_INFINITY] as const),
]);

/** A key that sends a sequence, or a character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of a terminal
const KEY = /\x1b[[O][\d;]*[A-Za-z~]|./gs;

/** A signal that fires with the exit code when the person wants to leave; other keys scroll. */
function keysPressed(scroll: (move: Move) => void): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const { stdin } = process;
  const onData = (data: Buffer) => {
    for (const [key] of data.toString("latin1").matchAll(KEY)) {
      const move = MOVES.get(key);
      if (key === "q") controller.abort(EXIT.done);
      // In raw mode Ctrl-C is a character.
      else if (key === "\x03") controller.abort(EXIT.interrupted);
      else if (move) scroll(move);
    }
  };
  const onInterrupt = () => controller.abort(EXIT.interrupted);
  // However it ends, the terminal must be restored.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of signals) process.once(name, onInterrupt);
  if (stdin.isTTY) stdin.setRawMode(true).resume().on("data", onData);
  const end = () => {
    for (const name of signals) process.removeListener(name, onInterrupt);
    if (stdin.isTTY) stdin.setRawMode(false).removeListener("data", onData).pause();
  };
  return { signal: controller.signal, end };
}

/** All queues at one time. */
interface TopFigures {
  /** RFC 3339. */
  readonly time: string;
  readonly items: readonly Queue[];
  readonly incidents: readonly Incident[];
}

interface View extends TopFigures {
  readonly url: string;
  /** Why there are no newer figures; "" if there is no problem. */
  readonly problem: string;
  /** How many queues to skip before the first that is shown. */
  readonly offset: number;
}

/** The lines around the queues: the totals, what is wrong, at most so much of it, the heading, and the keys. */
const FRAME = 3;
const MAX_INCIDENTS = 5;

/** What stands above the queues: what is wrong, or that nothing is. */
function headlines({ items, incidents, problem }: View, width: number): string[] {
  if (problem !== "") return [paint("red", cut(problem, width))];
  const lines = incidentLines(incidents, { most: MAX_INCIDENTS, width });
  return lines.length === 0 ? [cut(allWell(items), width)] : lines;
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** How many queues fit on a screen. */
function pageOf(view: View, { columns, rows }: Size): number {
  return Math.max(1, rows - FRAME - headlines(view, columns).length);
}

/** The largest offset: the last queue is then at the bottom. */
function lastOffset(view: View, size: Size): number {
  return Math.max(0, view.items.length - pageOf(view, size));
}

/** What `paihao top` shows: the queues that need attention first, as many as fit, and the keys in the last line. */
export function topLines(view: View, size: Size): string[] {
  const { url, time, items, incidents, offset } = view;
  const sum = (of: (queue: Queue) => number) => items.reduce((total, queue) => total + of(queue), 0);
  const sorted = byTrouble(items, incidents);
  const page = pageOf(view, size);
  const first = Math.min(offset, lastOffset(view, size));
  const shown = sorted.slice(first, first + page);
  // Built from all queues, so that columns keep their places while it scrolls.
  const [heading = "", ...rows] = tableLines(QUEUE_COLUMNS, sorted, size.columns);
  const waiting = counted(
    sum((queue) => queue.waiting),
    "task",
  );
  const figures = `${waiting} waiting, ${sum((queue) => queue.running)} running, ${sum((queue) => queue.dead)} dead`;
  const head = `${figures}  as of ${new Date(time).toLocaleTimeString("sv")}  ${url}`;
  const part =
    shown.length < items.length ? `  ↑ ↓ scroll, ${first + 1}–${first + shown.length} of ${items.length}` : "";
  return [
    paint("bold", cut(head, size.columns)),
    ...headlines(view, size.columns),
    heading,
    ...shown.map((queue, n) => painted(troublesOf(queue, incidents), rows[first + n] ?? "")),
    ...Array.from({ length: page - shown.length }, () => ""),
    paint("dim", cut(`q quits${part}`, size.columns)),
  ].slice(0, size.rows);
}

function painted([worst]: readonly Incident[], line: string): string {
  if (!worst) return line;
  return paint(worst.level === "red" ? "red" : "yellow", line);
}
