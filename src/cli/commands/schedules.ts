import { type Command, Option } from "commander";
import type { Connection, Request } from "../../client/connection.ts";
import { newId } from "../../client/submission.ts";
import type { Schedule, ScheduleBody } from "../../extras/schedules/wire.ts";
import { isId, MISSED, OVERLAP, PRIORITY } from "../../task.ts";
import type { Pending } from "../../wire/task.ts";
import { moment } from "../../words/numbers.ts";
import { readDuration, readInput, wholeWithin } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand, command } from "../command.ts";
import { wrongUsage } from "../exit.ts";
import { ask, connectionTo, itemsOf, queuePath } from "../server.ts";
import { note, plain, print, printJson, printJsonLine } from "../terminal/print.ts";
import { type Column, printTable } from "../terminal/table.ts";

interface SetOptions extends ClientOptions, Omit<ScheduleBody, "queue" | "input" | "deadline"> {
  readonly deadline?: number;
}

/** `paihao schedules`: tasks that are submitted by the clock. */
export function schedulesCommand(): Command {
  return command("schedules", "show and change what is submitted by the clock", [
    "paihao schedules ls",
    `paihao schedules set nightly default '{"seconds":0}' --cron '0 3 * * *'`,
    "paihao schedules run nightly",
  ])
    .addCommand(lsCommand(), { isDefault: true })
    .addCommand(setCommand())
    .addCommand(pauseCommand("pause", "submit nothing for a schedule", true))
    .addCommand(pauseCommand("resume", "go on with a paused schedule; what fell due meanwhile is left out", false))
    .addCommand(runCommand())
    .addCommand(historyCommand())
    .addCommand(deleteCommand());
}

function lsCommand(): Command {
  return clientCommand("ls", "list them, with their next and last times", [
    "paihao schedules ls",
    "paihao schedules ls --json",
  ]).action(
    clientAction(async (options: ClientOptions) => {
      const all: Schedule[] = [];
      for await (const schedule of itemsOf<Schedule>(connectionTo(options), "/v1/schedules")) all.push(schedule);
      if (options.json) for (const schedule of all) printJsonLine(schedule);
      else printTable(COLUMNS, all);
      if (all.length === 0) note("there are no schedules");
      return undefined;
    }),
  );
}

const COLUMNS: readonly Column<Schedule>[] = [
  { title: "SCHEDULE", value: ({ id }) => id, cut: { where: "middle", min: 10 } },
  { title: "QUEUE", value: ({ queue }) => queue, rank: 3 },
  {
    title: "DUE",
    value: ({ cron, every, timeZone }) => (cron === undefined ? `every ${every}` : `${cron} ${timeZone}`),
  },
  { title: "NEXT", value: ({ next }) => (next[0] === undefined ? null : moment(next[0])) },
  { title: "LAST", value: ({ last }) => last && `${last.state ?? "gone"} ${moment(last.at)}`, rank: 2 },
  { title: "STATE", value: ({ paused, orphan }) => (orphan ? "orphan" : paused ? "paused" : ""), early: true },
];

function setCommand(): Command {
  return clientCommand(
    "set <id> <queue> [input]",
    "make or change a schedule; its input: JSON, @file, or - for stdin",
    [
      `paihao schedules set nightly default '{"seconds":0}' --cron '0 3 * * *'`,
      "paihao schedules set hourly default @input.json --every 1h --overlap skip",
    ],
  )
    .addOption(new Option("--cron <pattern>", "five fields, or six with the seconds first").conflicts("every"))
    .option("--every <time>", "30s, 5m, 1h")
    .option("--time-zone <zone>", "of the pattern, e.g. Europe/Berlin (default: UTC)")
    .option("--start-at <time>", "no sooner than this (RFC 3339)")
    .option("--end-at <time>", "no later than this")
    .addOption(new Option("--missed <what>", `what fell due without a server (default: ${MISSED[0]})`).choices(MISSED))
    .addOption(new Option("--overlap <what>", `while its last task goes on (default: ${OVERLAP[0]})`).choices(OVERLAP))
    .option("--priority <n>", "0, the most urgent, to 7", wholeWithin(PRIORITY.most, PRIORITY.least))
    .option("--deadline <time>", "cancel a task that has not ended after this time", readDuration)
    .option("--label <text>", "what people call its tasks")
    .option("--paused", "submit nothing yet")
    .action(
      clientAction(async (options: SetOptions, id: string, queue: string, argument: string | undefined) => {
        queuePath(queue);
        const { cron, every, timeZone, startAt, endAt, missed, overlap, priority, label, paused } = options;
        const input = JSON.parse(Buffer.from(await readInput(argument, undefined)).toString("utf8")) as unknown;
        const deadline = options.deadline === undefined ? undefined : options.deadline / 1000;
        const times = { cron, every, timeZone, startAt, endAt, missed, overlap };
        report(
          await put(connectionTo(options), id, { queue, input, ...times, priority, deadline, label, paused }),
          options,
        );
        return undefined;
      }),
    );
}

function pauseCommand(name: string, summary: string, paused: boolean): Command {
  return clientCommand(`${name} <id>`, summary, [`paihao schedules ${name} nightly`]).action(
    clientAction(async (options: ClientOptions, id: string) => {
      const connection = connectionTo(options);
      const found = await ask<Schedule>(connection, schedulePath(id));
      const { id: _, declared: __, orphan: ___, next: ____, last: _____, history: ______, ...sent } = found;
      report(await put(connection, id, { ...sent, paused }), options);
      return undefined;
    }),
  );
}

function runCommand(): Command {
  return clientCommand("run <id>", "submit a task of it now, beside its times", [
    "paihao schedules run nightly",
  ]).action(
    clientAction(async (options: ClientOptions, id: string) => {
      // Sent again, it is the same task.
      const request = { method: "POST", headers: { "X-Request-Id": newId() } };
      const task = await ask<Pending>(connectionTo(options), `${schedulePath(id)}/run`, request);
      if (options.json) printJson(task);
      else print(plain(task.id));
      return undefined;
    }),
  );
}

const PAST: readonly Column<Schedule["history"][number]>[] = [
  { title: "DUE", value: ({ at }) => moment(at) },
  { title: "OUTCOME", value: ({ state }) => state ?? "not ended" },
  { title: "TASK", value: ({ id, state }) => (NO_TASK.has(state) ? null : id), cut: { where: "middle", min: 12 } },
];
const NO_TASK: ReadonlySet<string | null> = new Set(["skipped", "missed", "refused"]);

function historyCommand(): Command {
  return clientCommand("history <id>", "show what became of the latest due times", [
    "paihao schedules history nightly",
    "paihao schedules history nightly --json",
  ]).action(
    clientAction(async (options: ClientOptions, id: string) => {
      const { history } = await ask<Schedule>(connectionTo(options), schedulePath(id));
      if (options.json) for (const past of history) printJsonLine(past);
      else if (history.length > 0) printTable(PAST, history);
      else note(`${id} has not been due yet`);
      return undefined;
    }),
  );
}

function deleteCommand(): Command {
  return clientCommand("delete <id>", "delete a schedule; its tasks stay", ["paihao schedules delete nightly"]).action(
    clientAction(async (options: ClientOptions, id: string) => {
      await connectionTo(options).send(schedulePath(id), { method: "DELETE" }, () => undefined);
      if (options.json) printJson({ id, deleted: true });
      else print(id);
      return undefined;
    }),
  );
}

/** The path of a schedule. @throws CommandError if it is not an id */
function schedulePath(id: string): string {
  if (!isId(id))
    throw wrongUsage(`${JSON.stringify(id)} is not the id of a schedule: 1–64 characters of A–Z a–z 0–9 . _ ~ -`);
  return `/v1/schedules/${id}`;
}

function put(connection: Connection, id: string, body: object): Promise<Schedule> {
  const headers = { "Content-Type": "application/json" };
  const request: Request = { method: "PUT", headers, body: JSON.stringify(body) };
  return ask<Schedule>(connection, schedulePath(id), request);
}

function report(schedule: Schedule, { json }: ClientOptions): void {
  const { id, paused, next } = schedule;
  if (json) printJson(schedule);
  else if (paused) note(`${id} is paused; to continue: paihao schedules resume ${id}`);
  else note(`${id} is due next: ${next.length === 0 ? "never" : next.map((time) => moment(time)).join(", ")}`);
}
