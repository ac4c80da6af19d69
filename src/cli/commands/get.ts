import type { Command } from "commander";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { printResult } from "../result.ts";
import { connectionTo } from "../server.ts";

/** `paihao get`: the result of a task. */
export function getCommand(): Command {
  return clientCommand("get <id>", "print the result of a task that has ended", [
    "paihao get report-7",
    "paihao get photo-7 > photo.webp",
  ]).action(
    clientAction(async (options: ClientOptions, id: string) => {
      await printResult(connectionTo(options), id, options);
      return undefined;
    }),
  );
}
