import type { Command } from "commander";
import { pathTo } from "../../client/follow.ts";
import type { Status } from "../../client/status.ts";
import type { Attempt, Timeline } from "../../wire/task.ts";
import { counted } from "../../words/numbers.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { ask, connectionTo, taskAt } from "../server.ts";
import { note, print, printJson } from "../terminal/print.ts";
import { fieldLines } from "../terminal/queue-text.ts";
import { type Column, printTable } from "../terminal/table.ts";
import { ageText, spanText, statusText } from "../terminal/words.ts";

const COLUMNS: readonly Column<Attempt>[] = [
  { title: "ATTEMPT", short: "#", value: ({ number }) => number || null },
  { title: "OUTCOME", value: ({ outcome }) => outcome },
  { title: "STARTED", rank: 1, value: ({ startedAt }) => `${ageText(startedAt)} ago` },
  { title: "TOOK", value: ({ startedAt, endedAt }) => spanText(startedAt, endedAt) },
  { title: "WORKER", rank: 2, value: ({ worker }) => worker },
  { title: "ERROR", value: ({ error }) => error, cut: { where: "end", min: 12 } },
];

/** `paihao history`: what happened to a task. */
export function historyCommand(): Command {
  return clientCommand("history <task>", "show the attempts of a task, with their errors, stacks and logs", [
    "paihao history report-7",
    "paihao history greet-1 --json",
  ]).action(
    clientAction(async (options: ClientOptions, name: string) => {
      const task = taskAt(connectionTo(options), name);
      const timeline = await ask<Timeline>(task.connection, pathTo(task, "/timeline"));
      if (options.json) {
        printJson(timeline);
        return undefined;
      }
      if (process.stdout.isTTY) for (const line of headLines(timeline)) print(line);
      if (timeline.attemptsOmitted) note("earlier attempts are left out");
      if (timeline.attempts.length > 0) printTable(COLUMNS, timeline.attempts);
      else note(`${name} has not been started`);
      for (const line of timeline.attempts.flatMap(recordLines)) note(line);
      return undefined;
    }),
  );
}

/** What an attempt has logged, and the stack of its error. */
function recordLines({ number, log, stack }: Attempt): string[] {
  const lines = log.flatMap(({ at, level, text }) => `${at} ${level} ${text}`.split("\n"));
  return [
    ...(lines.length > 0 ? [`log of attempt ${number}:`, ...lines.map((line) => `  ${line}`)] : []),
    ...(stack === null ? [] : [`stack of attempt ${number}:`, ...stack.split("\n").map((line) => `  ${line}`)]),
  ];
}

const stepText = ({ name, state, undoneAt = null }: Timeline["steps"][number]): string =>
  `${name} (${state}${undoneAt === null ? "" : ` ${ageText(undoneAt)} ago`})`;

function headLines({ task, steps, undo, webhooks }: Timeline): string[] {
  return fieldLines([
    ["id", task.id],
    ["queue", task.queue],
    ["state", statusText(task as Status)],
    ["submitted", `${task.createdAt} (${ageText(task.createdAt)} ago)`],
    ["steps", steps.length === 0 ? null : steps.map(stepText).join(", ")],
    ["undo", undo && [undo.state, undo.error ?? ""].filter(Boolean).join(": ")],
    ...webhooks.map(
      ({ url, state, attempt }) => ["webhook", `${state} (${counted(attempt, "attempt")}) ${url}`] as const,
    ),
  ]);
}
