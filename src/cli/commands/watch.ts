import type { Command } from "commander";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { waitFor } from "../interrupt.ts";
import { connectionTo, taskAt } from "../server.ts";
import { DURATION_HELP, readTimeout } from "../values.ts";
import { goOnText, watchTask } from "../watching.ts";

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
