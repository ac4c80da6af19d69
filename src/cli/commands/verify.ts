import type { Command } from "commander";
import { command } from "../command.ts";

/** `paihao verify`: the index of the store. */
export function verifyCommand(): Command {
  return command("verify", "check all tasks in the store against the index", [
    "paihao verify",
    "REDIS_URL=redis://localhost:6379 paihao verify --heal",
  ])
    .alias("audit")
    .option("--heal", "repair what disagrees")
    .option("--json", "print JSON")
    .action(async (options: { heal?: boolean; json?: boolean }) => {
      const { verify } = await import("../verify.ts");
      process.exitCode = await verify(options);
    });
}
