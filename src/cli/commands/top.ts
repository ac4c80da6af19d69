import { setTimeout as sleep } from "node:timers/promises";
import { type Command, InvalidArgumentError } from "commander";
import type { Connection } from "../../client/connection.ts";
import type { Queue } from "../../client/status.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { EXIT, type ExitCode, failureOf } from "../exit.ts";
import { ask, connectionTo } from "../server.ts";
import { paint, printJsonLine } from "../terminal/print.ts";
import { QUEUE_COLUMNS } from "../terminal/queue-text.ts";
import { Screen } from "../terminal/screen.ts";
import { printTable, tableLines } from "../terminal/table.ts";
import { count } from "../terminal/words.ts";
import { DURATION_HELP, readTimeout } from "../values.ts";

const SHORTEST_MS = 100;

interface TopOptions extends ClientOptions {
  readonly interval: number;
  readonly once?: boolean;
}

/** `paihao top`: all queues, live. */
export function topCommand(): Command {
  return clientCommand("top", "show all queues, live", ["paihao top", "paihao top --once", "paihao top --once --json"])
    .option("--interval <time>", `time between two looks: ${DURATION_HELP}`, readInterval, 1000)
    .option("--once", "look once, as where stdout is no terminal")
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
  if (options.once || !process.stdout.isTTY) {
    printTable(QUEUE_COLUMNS, first.items);
    return EXIT.done;
  }
  return live(connection, options.interval, first);
}

interface Look {
  readonly time: string;
  readonly items: readonly Queue[];
}

async function look(connection: Connection): Promise<Look> {
  const { items } = await ask<{ items: Queue[] }>(connection, "/v1/queues");
  return { time: new Date().toISOString(), items };
}

async function live(connection: Connection, intervalMs: number, first: Look): Promise<ExitCode> {
  const screen = new Screen(process.stdout);
  const { signal, end } = keyPressed();
  let seen = first;
  let trouble = "";
  const draw = () => screen.draw(linesOf(connection.url, seen, trouble, screen.width));
  process.stdout.on("resize", draw);
  try {
    for (;;) {
      draw();
      await sleep(intervalMs, undefined, { signal });
      try {
        seen = await look(connection);
        trouble = "";
      } catch (error) {
        // A restart of the server is waited for.
        trouble = failureOf(error).message ?? "";
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

function linesOf(url: string, { time, items }: Look, trouble: string, width: number): string[] {
  const sum = (of: (queue: Queue) => number) => items.reduce((total, queue) => total + of(queue), 0);
  const [head = "", ...rows] = tableLines(QUEUE_COLUMNS, items, width);
  const figures = `${count(
    sum((q) => q.waiting),
    "task",
  )} waiting, ${sum((q) => q.running)} running, ${sum((q) => q.dead)} dead`;
  const at = new Date(time).toLocaleTimeString("sv");
  return [
    `${paint("bold", `paihao ${url}`)}  ${at}  ${figures}`,
    trouble === "" ? "" : paint("red", trouble),
    head,
    ...rows.map((line, i) => {
      const queue = items[i];
      if (!queue) return line;
      if (queue.dead > 0) return paint("red", line);
      return queue.paused || queue.resting ? paint("yellow", line) : line;
    }),
    "",
    paint("dim", "q quits"),
  ];
}

/** A signal that fires with the exit code when the person wants to leave. */
function keyPressed(): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const { stdin } = process;
  const onData = (data: Buffer) => {
    if (data.includes("q")) controller.abort(EXIT.done);
    // In raw mode it is a character.
    if (data.includes("\x03")) controller.abort(EXIT.interrupted);
  };
  const onInterrupt = () => controller.abort(EXIT.interrupted);
  // Whatever ends it: the terminal has to be as before.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of signals) process.once(name, onInterrupt);
  if (stdin.isTTY) stdin.setRawMode(true).resume().on("data", onData);
  const end = () => {
    for (const name of signals) process.removeListener(name, onInterrupt);
    if (stdin.isTTY) stdin.setRawMode(false).removeListener("data", onData).pause();
  };
  return { signal: controller.signal, end };
}
