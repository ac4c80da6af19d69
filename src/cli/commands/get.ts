import type { Command } from "commander";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { withLastError } from "../last-error.ts";
import { printResult } from "../result.ts";
import { connectionTo, taskAt } from "../server.ts";

/** `paihao get`: the result of a task. */
export function getCommand(): Command {
  return clientCommand("get <task>", "print the result of a task that has ended", [
    "paihao get report-7",
    "paihao get photo-7 > photo.webp",
    "paihao get '/v1/requests/report-7'",
  ]).action(
    clientAction(async (options: ClientOptions, task: string) => {
      const named = taskAt(connectionTo(options), task);
      await withLastError(named, options.json, () => printResult(named, options));
      return undefined;
    }),
  );
}
