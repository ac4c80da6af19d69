import type { Command } from "commander";
import { errorOf } from "../../client/problem.ts";
import { DURATION_HELP, readTimeout } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { waitFor } from "../exit.ts";
import { connectionTo, taskAt } from "../server.ts";
import { note, plainLines, printJsonLine } from "../terminal/print.ts";
import { anewText, outputText } from "../terminal/progress.ts";
import { eventsOf } from "./watch.ts";

/** `paihao output`: what the handler of a task writes. */
export function outputCommand(): Command {
  return clientCommand("output <task>", "print what a task writes, until it ends", [
    "paihao output report-7",
    "paihao output report-7 --timeout 1m --json",
  ])
    .option("--timeout <time>", `stop reading after this; the task goes on: ${DURATION_HELP}`, readTimeout)
    .action(
      clientAction(async (options: ClientOptions & { readonly timeout?: number }, name: string) => {
        const task = taskAt(connectionTo(options, "watching"), name);
        const waiting = waitFor(
          () => `the task goes on; to read it again: paihao output ${task.name}`,
          options.timeout,
        );
        try {
          let run = 1;
          let midLine = false;
          for await (const { name, data } of eventsOf(task, waiting)) {
            if (name === "output") {
              if (options.json) printJsonLine(data);
              else {
                if (data.run > run && midLine) note("");
                if (data.run > run) note(`paihao: ${anewText(data.attempt)}`);
                const text = outputText(data.data);
                process.stdout.write(process.stdout.isTTY ? plainLines(text) : text);
                midLine = !text.endsWith("\n");
              }
              run = data.run;
            } else if ("problem" in data && data.problem) {
              throw errorOf(data.problem);
            }
          }
          if (midLine && process.stdout.isTTY) process.stdout.write("\n");
        } finally {
          waiting.end();
        }
        return undefined;
      }),
    );
}
