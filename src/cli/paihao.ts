#!/usr/bin/env node
import { Command } from "commander";
import { ROLES } from "../config.ts";
import { StartError } from "../errors.ts";
import { startCommand } from "./start.ts";

const program = new Command("paihao").description(
  "Take a number: a task server that tells everyone their place in line",
);

program
  .command("start")
  .description("start the server")
  .option("--role <role>", `what this process does: ${ROLES.join(", ")} (ROLE)`)
  .option("--handlers <dir>", "directory of handler files (HANDLERS)")
  .option("--port <port>", "port to listen on (PORT)")
  .action((options: { role?: string; handlers?: string; port?: string }) =>
    startCommand({ ROLE: options.role, HANDLERS: options.handlers, PORT: options.port }),
  );

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(`paihao: ${error.message}`);
  process.exitCode = 1;
}
