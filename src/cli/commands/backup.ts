import type { Command } from "commander";
import { command } from "../command.ts";

/** `paihao backup`: everything of a deployment, into a file. */
export function backupCommand(): Command {
  return command("backup <file>", "write all data of a deployment to a file; - writes it to stdout", [
    "paihao backup paihao.backup",
    "REDIS_URL=redis://localhost:6379 paihao backup paihao.backup",
  ])
    .option("--json", "print JSON")
    .action(async (file: string, options: { json?: boolean }) => {
      const { backup } = await import("../backup.ts");
      await backup(file, options);
    });
}

/** `paihao restore`: puts a backup back into a store. */
export function restoreCommand(): Command {
  return command("restore <file>", "put a backup into an empty deployment; - reads it from stdin", [
    "KEY_PREFIX=copy paihao restore paihao.backup",
    "KEY_PREFIX=copy paihao restore paihao.backup --replace",
  ])
    .option("--replace", "delete what the deployment already has")
    .option("--json", "print JSON")
    .action(async (file: string, options: { replace?: boolean; json?: boolean }) => {
      const { restore } = await import("../backup.ts");
      await restore(file, options);
    });
}
