import type { Command } from "commander";
import type { Worker } from "../../wire/operations.ts";
import { moment } from "../../words/numbers.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { ask, connectionTo } from "../server.ts";
import { note, printJsonLine } from "../terminal/print.ts";
import { type Column, printTable } from "../terminal/table.ts";

const COLUMNS: readonly Column<Worker>[] = [
  { title: "WORKER", value: ({ id }) => id, cut: { where: "middle", min: 12 } },
  { title: "KIND", value: ({ kind }) => kind, rank: 2 },
  { title: "VERSION", value: ({ appVersion }) => appVersion, rank: 3 },
  { title: "RUNS", value: ({ running }) => running.length },
  { title: "SLOTS", value: ({ slots }) => Object.values(slots).reduce((sum, some) => sum + some, 0) },
  { title: "QUEUES", value: ({ slots }) => Object.keys(slots).join(", "), cut: { where: "end", min: 8 }, rank: 1 },
  { title: "STATE", value: stateOf },
];

function stateOf({ lostAt, quiet }: Worker): string {
  if (lostAt !== null) return `lost at ${moment(lostAt)}`;
  return quiet ? "quiet" : "";
}

/** `paihao workers`: lists them, quiets one, or takes that back. */
export function workersCommand(): Command {
  return clientCommand("workers", "list the workers, or let one take no more work", [
    "paihao workers",
    "paihao workers quiet gpu-box:1",
    "paihao workers resume gpu-box:1",
  ])
    .action(
      clientAction(async (options: ClientOptions) => {
        const { items } = await ask<{ items: Worker[] }>(connectionTo(options), "/v1/workers");
        if (options.json) for (const item of items) printJsonLine(item);
        else printTable(COLUMNS, items);
        return undefined;
      }),
    )
    .addCommand(
      clientCommand("quiet <worker>", "let a worker end what it has and take no more", [
        "paihao workers quiet gpu-box:1",
      ]).action(clientAction((options: ClientOptions, worker: string) => quiet(options, worker, true))),
    )
    .addCommand(
      clientCommand("resume <worker>", "let a quiet worker take work again", [
        "paihao workers resume gpu-box:1",
      ]).action(clientAction((options: ClientOptions, worker: string) => quiet(options, worker, false))),
    );
}

async function quiet(options: ClientOptions, worker: string, isQuiet: boolean): Promise<undefined> {
  const path = `/v1/workers/${encodeURIComponent(worker)}/quiet`;
  const request = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ quiet: isQuiet }),
  };
  await connectionTo(options).send(path, request, (response) => response.text());
  if (isQuiet) note(`${worker} takes no more work; to continue: paihao workers resume ${worker}`);
  else note(`${worker} takes work again`);
  return undefined;
}
