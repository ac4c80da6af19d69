import { type Command, Option } from "commander";
import type { Verdict } from "../../client/batch.ts";
import { linesOf } from "../../client/event-stream.ts";
import { headersOf, newId, type SubmitOptions, searchOf, submit } from "../../client/submission.ts";
import { PRIORITY } from "../../task.ts";
import { counted } from "../../words/numbers.ts";
import { addParameter, DURATION_HELP, readDuration, readInput, readTimeout, wholeWithin } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { CommandError, EXIT, waitFor } from "../exit.ts";
import { ask, connectionTo, queuePath, taskAt, taskPath } from "../server.ts";
import { note, print, printJson } from "../terminal/print.ts";
import { startText } from "../terminal/task-text.ts";
import { goOnText as goOnWithGroup, groupPath, watchGroup } from "./group.ts";
import { goOnText, waitForTask, watchTask } from "./watch.ts";

interface Options extends ClientOptions, Omit<SubmitOptions, "signal"> {
  readonly group?: string | true;
  readonly wait?: boolean;
  readonly watch?: boolean;
  readonly timeout?: number;
}

/** `paihao submit`: submits a task, and waits for it if asked to. */
export function submitCommand(): Command {
  return clientCommand("submit <queue> [input]", "submit a task: JSON, @file, or - for stdin", [
    `paihao submit default '{"seconds":3}'`,
    `paihao submit default '{"seconds":3}' --watch`,
    `echo '{"seconds":1}' | paihao submit default - --wait --timeout 1m`,
    `paihao submit default @input.json --id report-10 --priority 0 --delay 5m`,
    `paihao submit default @inputs.ndjson --group --watch`,
  ])
    .addOption(new Option("--wait", "wait for the task and print its result").conflicts("watch"))
    .option("--watch", "the same, showing place in line, progress and output")
    .option("--timeout <time>", `stop waiting after this; the task goes on: ${DURATION_HELP}`, readTimeout)
    .addOption(
      new Option("--group [id]", "submit each line of the input as a task; they are a group, under this id").conflicts([
        "id",
        "wait",
        "type",
      ]),
    )
    .option("--id <id>", "the task's id; the same id with the same input is the same task")
    .option("--priority <n>", "0, the most urgent, to 7 (default: 3)", wholeWithin(PRIORITY.most, PRIORITY.least))
    .option("--delay <time>", "start it no sooner than after this time", readDuration)
    .option("--deadline <time>", "cancel it if it has not ended after this time", readDuration)
    .option("--presence <time>", "cancel it when nobody has looked at it for this time: 5s to 1h", readDuration)
    .option("--label <text>", "what people call it")
    .option("--query <name=value>", "parameter for the handler; may be repeated", addParameter)
    .option("--type <type>", "media type of an input that is not JSON, e.g. image/png")
    .action(clientAction(run));
}

async function run(options: Options, queue: string, argument: string | undefined): Promise<undefined> {
  const { json, wait = false, watch = false } = options;
  queuePath(queue);
  if (options.group !== undefined) return submitGroup(options, queue, argument, options.group);
  if (options.id !== undefined) taskPath(options.id);
  const input = await readInput(argument, options.type);
  // Chosen here, so that messages can name it before there is an answer.
  const id = options.id ?? newId();
  let isAccepted = false;
  const unknown = `the task may or may not have been submitted; to find out: paihao status ${id}`;
  const waiting = waitFor(() => (isAccepted ? goOnText(id) : unknown), options.timeout);
  const { signal } = waiting;
  try {
    const accepted = await submit(
      connectionTo(options),
      queue,
      input,
      { type: "application/json", ...options, signal },
      id,
    );
    isAccepted = true;
    if (accepted.replayed) note(`${id} was submitted before; nothing runs twice`);
    if (watch) {
      note(`submitted as ${id}`);
      await watchTask(taskAt(connectionTo(options, "watching"), id), { json, signal });
    } else if (wait) {
      note(`submitted as ${id}`);
      await waitForTask(taskAt(connectionTo(options, "watching"), id), { json, signal });
    } else if (json) {
      printJson(accepted);
    } else {
      print(id);
      if (accepted.index !== null) note(`place ${accepted.index + 1} in line, ${startText(accepted.eta)}`);
    }
  } finally {
    waiting.end();
  }
  return undefined;
}

/** Submits each line as a task of one group. @throws CommandError if lines are refused */
async function submitGroup(
  options: Options,
  queue: string,
  argument: string | undefined,
  group: string | true,
): Promise<undefined> {
  const id = group === true ? newId() : group;
  const path = groupPath(id);
  const body = await readInput(argument, "application/x-ndjson");
  let isAccepted = false;
  const unknown = `the tasks may or may not have been submitted; to find out: paihao group ${id}`;
  const waiting = waitFor(() => (isAccepted ? goOnWithGroup(id) : unknown), options.timeout);
  const { signal } = waiting;
  let refused = 0;
  try {
    // Sent once: lines without ids of their own would be further tasks.
    const request = { method: "POST", body, signal, maxBytes: Infinity, once: true };
    const headers = { ...headersOf(options), "Content-Type": "application/x-ndjson" };
    const to = `${queuePath(queue)}/batches${searchOf(options, { group: id })}`;
    await connectionTo(options).send(to, { ...request, headers }, async (response) => {
      for await (const text of linesOf(response)) {
        const { line, problem } = JSON.parse(text || "{}") as Partial<Verdict>;
        if (!problem) continue;
        refused += 1;
        note(`line ${(line ?? 0) + 1}: ${[problem.title, problem.detail].filter(Boolean).join(": ")}`);
      }
    });
    isAccepted = true;
    if (options.watch) {
      note(`submitted as ${id}`);
      await watchGroup(connectionTo(options, "watching"), path, { json: options.json, signal });
    } else if (options.json) printJson(await ask(connectionTo(options), path, { signal }));
    else print(id);
  } finally {
    waiting.end();
  }
  if (refused > 0) throw new CommandError(EXIT.refused, `${counted(refused, "line")} refused; the others are in ${id}`);
  return undefined;
}
