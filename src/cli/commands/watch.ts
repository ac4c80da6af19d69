import type { Command } from "commander";
import { follow, type TaskEvent } from "../../client/follow.ts";
import { errorOf, PaihaoError } from "../../client/problem.ts";
import { DURATION_HELP, readTimeout } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { CommandError, EXIT, failureOf, waitFor } from "../exit.ts";
import { connectionTo, type NamedTask, reach, taskAt } from "../server.ts";
import { note } from "../terminal/print.ts";
import { openView } from "../terminal/progress.ts";
import { printResult } from "./get.ts";
import { withLastError } from "./history.ts";

/** `paihao watch`: place in line, progress and output of a task, then its result. */
export function watchCommand(): Command {
  return clientCommand("watch <task>", "watch a task until it ends, then print its result", [
    "paihao watch report-7",
    "paihao watch report-7 --timeout 5m --json",
  ])
    .option("--timeout <time>", `stop watching after this: ${DURATION_HELP}`, readTimeout)
    .action(
      clientAction(async (options: ClientOptions & { readonly timeout?: number }, name: string) => {
        const task = taskAt(connectionTo(options, "watching"), name);
        const waiting = waitFor(() => goOnText(task.name), options.timeout);
        try {
          await watchTask(task, { ...options, signal: waiting.signal });
        } finally {
          waiting.end();
        }
        return undefined;
      }),
    );
}

/** How a person can go on when a command stops but the task does not. */
export const goOnText = (name: string): string => `the task goes on; to watch it: paihao watch ${name}`;

/**
 * The events of a task, with the output of its handler if that is wanted.
 * @throws CommandError that says how to go on if the server is away for too long; PaihaoError; the signal's reason
 */
export async function* eventsOf(
  task: NamedTask,
  { signal, output = true, say = note }: { signal: AbortSignal; output?: boolean; say?: (line: string) => void },
): AsyncGenerator<TaskEvent, void> {
  const away = () => say("the server is away; trying again");
  const back = () => say("the server is back");
  reach.on("away", away).on("back", back);
  try {
    yield* follow(task, { signal, output });
  } catch (error) {
    if (!(error instanceof PaihaoError) || error.kind !== "unreachable") throw error;
    throw new CommandError(EXIT.unreachable, `${error.message}; ${goOnText(task.name)}`);
  } finally {
    reach.off("away", away).off("back", back);
  }
}

interface WatchOptions {
  readonly json?: boolean | undefined;
  readonly signal: AbortSignal;
}

/**
 * Waits until a task has ended, and prints its result.
 * @throws PaihaoError if it has none; the signal's reason
 */
export async function waitForTask(task: NamedTask, { json, signal }: WatchOptions): Promise<void> {
  for await (const _ of eventsOf(task, { signal, output: false }));
  await withLastError(task, json, () => printResult(task, { json, signal }));
}

/**
 * Shows a task until it has ended, and then prints its result; with --json the last line has it, unless it is long.
 * @throws PaihaoError if it has none; the signal's reason
 */
export async function watchTask(task: NamedTask, { json, signal }: WatchOptions): Promise<void> {
  const view = openView({ json });
  let problem: PaihaoError | undefined;
  let hasResult = false;
  try {
    for await (const { name, data } of eventsOf(task, { signal, say: (line) => view.say(line) })) {
      if (name === "output") view.output(data);
      else view.status(data);
      hasResult = "result" in data;
      if ("problem" in data && data.problem) problem = errorOf(data.problem);
    }
  } finally {
    view.end();
  }
  if (problem === undefined && json) {
    if (!hasResult) note(`the result is not JSON, or too long for the last line; to get it: paihao get ${task.name}`);
    return;
  }
  if (problem === undefined) return printResult(task, { signal });
  if (!json) return withLastError(task, json, () => Promise.reject(problem));
  // It has been printed.
  const { exitCode, message = "" } = failureOf(problem);
  throw new CommandError(exitCode, message);
}
