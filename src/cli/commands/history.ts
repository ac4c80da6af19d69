import type { Command } from "commander";
import { pathTo, type Target } from "../../client/follow.ts";
import { PaihaoError } from "../../client/problem.ts";
import type { Status } from "../../client/status.ts";
import type { Attempt, Timeline } from "../../wire/task.ts";
import { counted } from "../../words/numbers.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { CommandError, failureOf } from "../exit.ts";
import { ask, connectionTo, taskAt } from "../server.ts";
import { note, plain, print, printJson } from "../terminal/print.ts";
import { type Column, fieldLines, printTable } from "../terminal/table.ts";
import { ageText, spanText, statusText } from "../terminal/task-text.ts";

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

/** What the handler of a task threw last, and what shows its stack; null if it threw nothing, or this caller may not see it. */
export async function lastErrorOf(
  task: Target,
  state: Status["state"],
): Promise<{ readonly message: string; readonly stack: string | null } | null> {
  const timeline = ["failed", "retrying"].includes(state) ? await timelineOf(task) : null;
  const message = lastErrorIn(timeline);
  return timeline && message ? { message, stack: stackIn(timeline) } : null;
}

/** The command that shows the stack of the last error; null if none is kept. */
const stackIn = ({ attempts, task }: Timeline): string | null =>
  attempts.findLast(({ error }) => error !== null)?.stack ? `paihao history ${task.id}` : null;

/** What happened to a task; null if this caller may not see it. */
async function timelineOf(task: Target): Promise<Timeline | null> {
  // A signed link does not allow reading it.
  if (task.query !== "") return null;
  try {
    return await ask<Timeline>(task.connection, pathTo(task, "/timeline"));
  } catch (error) {
    // The timeline is only an extra.
    if (error instanceof PaihaoError) return null;
    throw error;
  }
}

const lastErrorIn = (timeline: Timeline | null): string | null =>
  timeline?.attempts.findLast(({ error }) => error !== null)?.error ?? null;

/** Maximum number of steps that are named in one line. */
const NAMED_STEPS = 5;

/** Which steps of a task were undone, and when; "" if none was. */
function undoneText({ steps }: Timeline): string {
  const undone = steps.filter(({ state }) => state === "undone");
  if (undone.length === 0) return "";
  const names = undone.slice(0, NAMED_STEPS).map(({ name }) => name);
  const more = undone.length > NAMED_STEPS ? ` and ${undone.length - NAMED_STEPS} more` : "";
  const at = undone[0]?.undoneAt;
  return `undone${at ? ` ${ageText(at)} ago` : ""}: ${names.join(", ")}${more}`;
}

function retryText({ task: { actions, queue, id } }: Timeline): string {
  return actions?.includes("retry") ? `to run it again: paihao dead retry ${queue} ${id}` : "";
}

/**
 * Runs work on a task. If the task ended without a result, the error also has what the handler threw last, the steps that were undone, and
 * how to run the task again if this caller can.
 * @throws CommandError; what the work throws
 */
export async function withLastError<T>(task: Target, json: boolean | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (json || !(error instanceof PaihaoError) || (error.kind !== "failed" && error.kind !== "canceled")) throw error;
    const timeline = await timelineOf(task);
    if (timeline === null) throw error;
    const { exitCode, message = "" } = failureOf(error);
    const last = error.kind === "failed" ? lastErrorIn(timeline) : null;
    const lastError = last === null || message.includes(plain(last)) ? "" : `last error: ${last}`;
    const history = lastError === "" ? null : stackIn(timeline);
    const stack = history === null ? "" : `its stack and log: ${history}`;
    const extras = [lastError, stack, undoneText(timeline), retryText(timeline)].filter((extra) => extra !== "");
    if (extras.length === 0) throw error;
    throw new CommandError(exitCode, `${message} (${extras.join("; ")})`, { cause: error });
  }
}
