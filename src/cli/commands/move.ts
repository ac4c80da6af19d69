import { type Command, Option } from "commander";
import type { Status } from "../../client/status.ts";
import { type Duration, msOf } from "../../client/time.ts";
import { PRIORITY } from "../../task.ts";
import type { MoveBody } from "../../wire/task.ts";
import { DURATION_HELP, readDuration, wholeWithin } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand, forEachId } from "../command.ts";
import { EXIT, type ExitCode, wrongUsage } from "../exit.ts";
import { ask, connectionTo, taskPath } from "../server.ts";
import { plain, print, printJsonLine } from "../terminal/print.ts";
import { statusText } from "../terminal/task-text.ts";

interface Options extends ClientOptions {
  readonly first?: true;
  readonly last?: true;
  readonly priority?: number;
  readonly delay?: Duration;
}

/** `paihao move`: gives tasks that wait another priority, place or time. */
export function moveCommand(): Command {
  return clientCommand(
    "move <id...>",
    "move tasks that wait: to the start or end of the line, or another priority or time",
    ["paihao move report-8 --priority 0", "paihao move report-8 report-9 --delay 10m"],
  )
    .addOption(new Option("--first", "to the start of the line").conflicts(["last", "priority", "delay"]))
    .addOption(new Option("--last", "to the end of the line").conflicts(["priority", "delay"]))
    .addOption(
      new Option("--priority <n>", "0, the most urgent, to 7")
        .argParser(wholeWithin(PRIORITY.most, PRIORITY.least))
        .conflicts("delay"),
    )
    .option("--delay <time>", `out of the line for this time: ${DURATION_HELP}`, readDuration)
    .action(
      clientAction((options: Options, ids: readonly string[]) => {
        const body = JSON.stringify(bodyOf(options));
        const connection = connectionTo(options);
        const request = { method: "PATCH", headers: { "Content-Type": "application/json" }, body };
        return forEachId(ids, options, async (id) => report(await ask(connection, taskPath(id), request), options));
      }),
    );
}

function bodyOf({ first, last, priority, delay }: Options): MoveBody {
  if (first || last) return { place: first ? "first" : "last" };
  if (priority !== undefined) return { priority };
  if (delay !== undefined) return { delay: msOf(delay) / 1000 };
  throw wrongUsage("say where: --first, --last, --priority N or --delay TIME");
}

function report(status: Status, { json }: ClientOptions): ExitCode {
  if (json) printJsonLine(status);
  else print(`${plain(status.id)}\t${statusText(status)}`);
  return EXIT.done;
}
