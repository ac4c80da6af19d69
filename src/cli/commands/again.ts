import type { Command } from "commander";
import type { Body } from "../../client/connection.ts";
import type { Accepted } from "../../client/status.ts";
import { headersOf, newId, type SubmitOptions, searchOf } from "../../client/submission.ts";
import { PRIORITY } from "../../task.ts";
import { DURATION_HELP, readDuration, readInput, wholeWithin } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { ask, connectionTo, taskPath } from "../server.ts";
import { note, print, printJson } from "../terminal/print.ts";
import { startText } from "../terminal/task-text.ts";

interface Options extends ClientOptions, Pick<SubmitOptions, "id" | "priority" | "delay" | "deadline" | "type"> {}

/** `paihao again`: submits the input of a task as a new task. */
export function againCommand(): Command {
  return clientCommand(
    "again <id> [input]",
    "submit the input of a task again, or another: JSON, @file, or - for stdin",
    ["paihao again report-8", `paihao again report-8 '{"seconds":3}' --priority 0`],
  )
    .option("--id <id>", "the id of the new task")
    .option("--priority <n>", "0, the most urgent, to 7 (default: 3)", wholeWithin(PRIORITY.most, PRIORITY.least))
    .option("--delay <time>", `start it no sooner than after this time: ${DURATION_HELP}`, readDuration)
    .option("--deadline <time>", "cancel it if it has not ended after this time", readDuration)
    .option("--type <type>", "media type of an input that is not JSON, e.g. image/png")
    .action(
      clientAction(async (options: Options, original: string, argument: string | undefined) => {
        const path = taskPath(original);
        if (options.id !== undefined) taskPath(options.id);
        const { id = newId(), type } = options;
        const body = argument === undefined ? undefined : await readInput(argument, type);
        const headers = {
          ...{ Prefer: "respond-async", "X-Request-Id": id, ...headersOf(options) },
          ...(body && { "Content-Type": type ?? "application/json" }),
        };
        const accepted = await ask<Accepted>(connectionTo(options), `${path}/again${searchOf(options)}`, {
          ...{ method: "POST", headers },
          ...(body && { body: body as Body }),
        });
        if (options.json) printJson(accepted);
        else {
          print(accepted.id);
          if (accepted.index !== null) note(`place ${accepted.index + 1} in line, ${startText(accepted.eta)}`);
        }
        return undefined;
      }),
    );
}
