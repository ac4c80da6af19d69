import { type Command, Option } from "commander";
import { newId, type SubmitOptions, submit } from "../../client/submission.ts";
import { PRIORITY } from "../../task.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { readInput } from "../input.ts";
import { waitFor } from "../interrupt.ts";
import { connectionTo, queuePath, taskAt, taskPath } from "../server.ts";
import { note, print, printJson } from "../terminal/print.ts";
import { startText } from "../terminal/words.ts";
import { addParameter, DURATION_HELP, readDuration, readTimeout, wholeWithin } from "../values.ts";
import { goOnText, waitForTask, watchTask } from "../watching.ts";

interface Options extends ClientOptions, Omit<SubmitOptions, "signal"> {
  readonly wait?: boolean;
  readonly watch?: boolean;
  readonly timeout?: number;
}

/** `paihao submit`: submits a task, and waits for it if asked to. */
export function submitCommand(): Command {
  return clientCommand("submit <queue> [input]", "submit a task: JSON, @file, or - for stdin", [
    `paihao submit countdown '{"seconds":3}'`,
    `paihao submit countdown '{"seconds":3}' --watch`,
    `echo '{"seconds":1}' | paihao submit countdown - --wait --timeout 1m`,
    `paihao submit countdown @input.json --id report-10 --priority 0 --delay 5m`,
  ])
    .addOption(new Option("--wait", "wait for the task and print its result").conflicts("watch"))
    .option("--watch", "the same, showing place in line, progress and output")
    .option("--timeout <time>", `stop waiting after this; the task goes on: ${DURATION_HELP}`, readTimeout)
    .option("--id <id>", "the task's id; the same id with the same input is the same task")
    .option("--priority <n>", "0, the most urgent, to 7 (default: 3)", wholeWithin(PRIORITY.most, PRIORITY.least))
    .option("--delay <time>", "start it no sooner than after this time", readDuration)
    .option("--deadline <time>", "cancel it if it has not ended after this time", readDuration)
    .option("--presence <time>", "cancel it when nobody has looked at it for this time: 5s to 1h", readDuration)
    .option("--query <name=value>", "parameter for the handler; may be repeated", addParameter)
    .option("--type <type>", "media type of an input that is not JSON, e.g. image/png")
    .action(clientAction(run));
}

async function run(options: Options, queue: string, argument: string | undefined): Promise<undefined> {
  const { json, wait = false, watch = false } = options;
  queuePath(queue);
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
