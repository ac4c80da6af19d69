#!/usr/bin/env node
import { Command } from "commander";
import { ROLES } from "../config/config.ts";
import { StartError } from "../errors.ts";
import { keysCommand } from "./keys.ts";

const AUDIT_HELP = `
Reads the settings of the server (REDIS_URL, KEY_PREFIX). Safe while servers run on the store.
Exit codes: 0 everything agrees, or was healed; 1 something disagrees, or the store cannot be used.

Examples:
  paihao audit
  REDIS_URL=redis://localhost:6379 paihao audit --heal`;

const program = new Command("paihao").description(
  "Take a number: a task server that tells everyone their place in line",
);

program
  .command("start")
  .description("start the server")
  .option("--role <role>", `what this process does: ${ROLES.join(", ")} (ROLE)`)
  .option("--handlers <dir>", "directory of handler files (HANDLERS)")
  .option("--port <port>", "port to listen on (PORT)")
  .action(async (options: { role?: string; handlers?: string; port?: string }) => {
    // Loaded here, since the other commands do not need the whole server.
    const { startCommand } = await import("./start.ts");
    await startCommand({ ROLE: options.role, HANDLERS: options.handlers, PORT: options.port });
  });

program
  .command("audit")
  .description("check every task in the store against the indexes of its queue")
  .option("--heal", "repair what disagrees")
  .option("--json", "print JSON, for scripts")
  .addHelpText("after", AUDIT_HELP)
  .action(async (options: { heal?: boolean; json?: boolean }) => {
    const { auditCommand } = await import("./audit.ts");
    process.exitCode = await auditCommand(options);
  });

program.addCommand(keysCommand());

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(`paihao: ${error.message}`);
  process.exitCode = 1;
}
