import type { Command } from "commander";
import { SCOPES } from "../../auth/api-key.ts";
import { command } from "../command.ts";

const FILE = ["--file <file>", "file of keys (API_KEYS_FILE)"] as const;

/** `paihao keys`: API keys. */
export function keysCommand(): Command {
  return command("keys", "create, revoke and list API keys", [
    "paihao keys create ci --scopes submit,read --file keys",
    "paihao keys ls --file keys",
  ])
    .addCommand(createCommand())
    .addCommand(revokeCommand())
    .addCommand(listCommand());
}

function createCommand(): Command {
  return command("create <name>", "create a key and print it, this once only, with the line that the server stores", [
    "paihao keys create ci --scopes submit,read --file keys",
    "paihao keys create ops --scopes admin --json",
  ])
    .requiredOption("--scopes <scopes>", `what the key may do, separated by commas: ${SCOPES.join(", ")}`)
    .option(...FILE)
    .option("--json", "print JSON")
    .action(async (name: string, options: { scopes: string; file?: string; json?: boolean }) => {
      const keys = await import("../keys.ts");
      keys.create(name, options);
    });
}

function revokeCommand(): Command {
  return command("revoke <name>", "remove a key from its file; running servers notice within a second", [
    "paihao keys revoke old --file keys",
  ])
    .option(...FILE)
    .action(async (name: string, options: { file?: string }) => {
      const keys = await import("../keys.ts");
      keys.revoke(name, options);
    });
}

function listCommand(): Command {
  return command("ls", "list the names and scopes of all keys", ["paihao keys ls", "paihao keys ls --file keys"])
    .option(...FILE)
    .option("--json", "print JSON")
    .action(async (options: { file?: string; json?: boolean }) => {
      const keys = await import("../keys.ts");
      keys.list(options);
    });
}
