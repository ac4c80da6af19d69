import type { Command } from "commander";
import { command } from "../command.ts";

/** `paihao audit`: the index of the store. */
export function auditCommand(): Command {
  return command("audit", "check all tasks in the store against the index", [
    "paihao audit",
    "REDIS_URL=redis://localhost:6379 paihao audit --heal",
  ])
    .option("--heal", "repair what disagrees")
    .option("--json", "print JSON")
    .action(async (options: { heal?: boolean; json?: boolean }) => {
      const { audit } = await import("../audit.ts");
      process.exitCode = await audit(options);
    });
}
