import { type Command, InvalidArgumentError } from "commander";
import type { AdjustBody, Queue, Queues } from "../../wire/queue.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { wrongUsage } from "../exit.ts";
import { ask, connectionTo, queuePath } from "../server.ts";
import { print, printJson, printJsonLine } from "../terminal/print.ts";
import { QUEUE_COLUMNS, queueLines } from "../terminal/queue-text.ts";
import { printTable } from "../terminal/table.ts";
import { wholeWithin } from "../values.ts";

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
          if (options.json) for (const item of items) printJsonLine(item);
          else printTable(QUEUE_COLUMNS, items);
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

/** The word for what the handler declares. */
const DECLARED = "declared";

interface SetOptions extends ClientOptions {
  readonly concurrency?: number | typeof DECLARED;
  readonly rate?: NonNullable<AdjustBody["rate"]> | typeof DECLARED;
}

function setCommand(): Command {
  return clientCommand("set <queue>", "change the concurrency or the rate of a queue while it runs", [
    "paihao queues set default --concurrency 4",
    "paihao queues set default --rate 5/1s",
    "paihao queues set default --rate declared --concurrency declared",
  ])
    .option(
      "--concurrency <n>",
      "tasks at a time in each worker process; declared: as the handler says",
      readConcurrency,
    )
    .option("--rate <rate>", "starts in a time over all workers, e.g. 5/1s; declared: as the handler says", readRate)
    .action(
      clientAction(async ({ concurrency, rate, ...options }: SetOptions, queue: string) => {
        const given = JSON.stringify({ concurrency, rate }, (_, value) => (value === DECLARED ? null : value));
        if (given === "{}") throw wrongUsage("say what: --concurrency N or --rate 5/1s");
        const headers = { "Content-Type": "application/json" };
        const request = { method: "PATCH", headers, body: given };
        const found = await ask<Queue>(connectionTo(options), queuePath(queue), request);
        if (options.json) printJson(found);
        else for (const line of queueLines(found)) print(line);
        return undefined;
      }),
    );
}

function readConcurrency(value: string): SetOptions["concurrency"] {
  return value === DECLARED ? value : wholeWithin(1, 1_000_000)(value);
}

function readRate(value: string): SetOptions["rate"] {
  if (value === DECLARED) return value;
  const [, max, per = ""] = /^(\d{1,6})\/(.+)$/.exec(value) ?? [];
  if (max === undefined) throw new InvalidArgumentError("expected a number and a time, such as 5/1s.");
  return { max: Number(max), per };
}
