import { readFileSync } from "node:fs";
import { Command } from "commander";
import { globalOptions } from "./command.ts";
import { auditCommand } from "./commands/audit.ts";
import { keysCommand } from "./commands/keys.ts";
import { startCommand } from "./commands/start.ts";

/**
 * All commands. Their files declare options and help; what needs the server or the store is imported when a command runs, so that
 * the others start fast.
 */
export function createProgram(): Command {
  const program = new Command("paihao")
    .description("Take a number: a task server that tells everyone their place in line")
    .version(versionOf(new URL("../../package.json", import.meta.url)))
    .exitOverride()
    .showHelpAfterError("(--help lists all commands)");
  for (const option of globalOptions) program.addOption(option);

  program.commandsGroup("The server:");
  for (const made of [startCommand(), auditCommand(), keysCommand()]) program.addCommand(made);
  return program;
}

function versionOf(manifest: URL): string {
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
