import { type Command, InvalidArgumentError } from "commander";
import type { Connection } from "../../client/connection.ts";
import { eventsOf, linesOf } from "../../client/event-stream.ts";
import { FIRST_BYTE_MS, SILENCE_MS } from "../../client/figures.ts";
import { sleep } from "../../client/time.ts";
import type { DeploymentEvent, DeploymentEvents } from "../../wire/operations.ts";
import { counted } from "../../words/numbers.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { waitFor } from "../exit.ts";
import { ask, connectionTo } from "../server.ts";
import { note, paint, print, printJsonLine } from "../terminal/print.ts";

/** The pause before a stream that has ended is opened again, ms. */
const AGAIN_MS = 1000;

interface EventsOptions extends ClientOptions {
  readonly limit: number;
  readonly follow?: boolean;
}

/** `paihao events`: what happened to the deployment. */
export function eventsCommand(): Command {
  return clientCommand("events", "show what happened: workers started or lost, queues paused or full, the store away", [
    "paihao events",
    "paihao events --limit 200 --json",
  ])
    .option("--limit <n>", "show at most this many, the latest", readLimit, 50)
    .option("--follow", "go on with what happens next")
    .action(clientAction(run));
}

function readLimit(value: string): number {
  const limit = Number(value);
  if (!Number.isInteger(limit) || limit < 1 || limit > 200) throw new InvalidArgumentError("expected 1 to 200.");
  return limit;
}

async function run({ follow, limit, json, ...options }: EventsOptions): Promise<undefined> {
  const show = (event: DeploymentEvent) => (json ? printJsonLine(event) : print(eventText(event)));
  const path = `/v1/events?limit=${limit}`;
  if (follow) return await followEvents(connectionTo(options, "watching"), path, show);
  const { items } = await ask<DeploymentEvents>(connectionTo(options), path);
  for (const item of items.toReversed()) show(item);
  if (items.length === 0) note("nothing has happened yet");
  return undefined;
}

/** Shows the latest events, then each as it happens, until it is interrupted. */
async function followEvents(
  connection: Connection,
  path: string,
  show: (event: DeploymentEvent) => void,
): Promise<undefined> {
  const waiting = waitFor(() => "to go on: paihao events --follow");
  const { signal } = waiting;
  let lastId = "";
  try {
    for (;;) {
      const headers = { Accept: "text/event-stream", ...(lastId && { "Last-Event-ID": lastId }) };
      await connection.send(path, { headers, signal, waitMs: FIRST_BYTE_MS }, async (response, limit) => {
        try {
          for await (const { id, data = "" } of eventsOf(linesOf(response, () => limit.within(SILENCE_MS)))) {
            lastId = id ?? lastId;
            show(JSON.parse(data) as DeploymentEvent);
          }
        } catch (error) {
          // The stream broke off: the next one goes on behind the last event.
          signal.throwIfAborted();
          if (error instanceof SyntaxError) throw error;
        }
      });
      await sleep(AGAIN_MS, signal);
    }
  } finally {
    waiting.end();
  }
}

/** Kinds that an operator should look at. */
const TROUBLE: ReadonlySet<DeploymentEvent["kind"]> = new Set([
  ...(["worker-lost", "queue-full", "target-down", "store-full", "store-away"] as const),
]);

/** An event in a line: when, what, and to whom. */
function eventText({ at, kind, queue, worker, tasks = [], count = 0, by, detail }: DeploymentEvent): string {
  const what = TROUBLE.has(kind) ? paint("red", kind.padEnd(16)) : kind.padEnd(16);
  const held = count > tasks.length ? `${tasks.join(", ")} and ${count - tasks.length} more` : tasks.join(", ");
  const parts = [queue, worker, tasks.length > 0 && `had ${counted(count, "task")}: ${held}`, by && `by ${by}`, detail];
  return `${at.replace("T", " ").slice(0, 19)}  ${what}  ${parts.filter(Boolean).join("  ")}`.trimEnd();
}
