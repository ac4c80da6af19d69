import type { Command } from "commander";
import { pathTo } from "../../client/follow.ts";
import type { Status } from "../../client/status.ts";
import { factsOf, TASK_FACTS } from "../../task-record.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { ask, connectionTo, taskAt } from "../server.ts";
import { print, printJson } from "../terminal/print.ts";
import { fieldLines } from "../terminal/table.ts";
import { ageText, percentText, statusText } from "../terminal/task-text.ts";
import { lastErrorOf } from "./history.ts";

/** `paihao status`: what is known of a task. */
export function statusCommand(): Command {
  return clientCommand("status <task>", "show state, place in line and progress of a task", [
    "paihao status report-7",
    "paihao status report-7 --json",
  ]).action(
    clientAction(async (options: ClientOptions, name: string) => {
      const task = taskAt(connectionTo(options), name);
      const status = await ask<Status>(task.connection, pathTo(task, "/status"));
      if (options.json) printJson(status);
      else for (const line of statusLines(status, await lastErrorOf(task, status.state))) print(line);
      return undefined;
    }),
  );
}

function statusLines(status: Status, lastError: Awaited<ReturnType<typeof lastErrorOf>>): string[] {
  const { progress, state } = status;
  const percent = progress && state === "running" ? percentText(progress) : null;
  return fieldLines([
    ["id", status.id],
    ["queue", status.queue],
    ["state", statusText(status)],
    ["progress", percent && [percent, progress?.message ?? ""].join(" ").trim()],
    ["last error", lastError?.message ?? null],
    ["its stack", lastError?.stack ?? null],
    ["attempt", status.attempt === 0 ? null : `${status.attempt} of ${status.maxAttempts}`],
    ...factsOf(TASK_FACTS, status).map(({ title, value, isTime }) => {
      return [title.toLowerCase(), isTime ? timeText(value) : value] as const;
    }),
    ["actions", status.actions?.join(", ") || null],
  ]);
}

/** A time, and how long ago it was. */
const timeText = (time: string): string => (Date.parse(time) > Date.now() ? time : `${time} (${ageText(time)} ago)`);
