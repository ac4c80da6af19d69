import type { Command } from "commander";
import type { Queue, Queues } from "../../wire/queue.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { ask, connectionTo, queuePath } from "../server.ts";
import { print, printJson, printJsonLine } from "../terminal/print.ts";
import { QUEUE_COLUMNS, queueLines } from "../terminal/queue-text.ts";
import { printTable } from "../terminal/table.ts";

/** `paihao queues`: all queues, or the figures of one. */
export function queuesCommand(): Command {
  return clientCommand("queues [queue]", "list the queues, or show one", [
    "paihao queues",
    "paihao queues default",
    "paihao queues default --json",
  ]).action(
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
  );
}
