import { type Command, Option } from "commander";
import type { ServerRole } from "../../config/variables.ts";
import { command } from "../command.ts";

/** Not imported, since config loads the logger. */
const ROLES: readonly ServerRole[] = ["all", "api", "worker"];

/** `paihao start`: the server. */
export function startCommand(): Command {
  return command("start", "start the server (settings: environment, .env)", [
    "paihao start",
    "paihao start --handlers ./handlers --port 8080",
    "REDIS_URL=redis://localhost:6379 paihao start --role worker",
  ])
    .option("--role <role>", `what this process does: ${ROLES.join(", ")} (ROLE)`)
    .option("--handlers <dir>", "directory of handler files (HANDLERS)")
    .option("--port <port>", "port to listen on (PORT)")
    .addOption(new Option("--dev").hideHelp())
    .action(async ({ role, handlers, port, dev }: { role?: string; handlers?: string; port?: string; dev?: true }) => {
      const { startServer } = await import("./start.ts");
      await startServer({ ROLE: role, HANDLERS: handlers, PORT: port }, dev);
    });
}

/** `paihao dev`: the server, for who writes handlers. */
export function devCommand(): Command {
  return command("dev", "start the server, and again when a source file changes", [
    "paihao dev",
    "paihao dev --handlers ./handlers --port 8080",
  ])
    .option("--handlers <dir>", "directory of handler files (HANDLERS)")
    .option("--port <port>", "port to listen on (PORT)")
    .action(async (options: { handlers?: string; port?: string }) => {
      const { develop } = await import("./dev.ts");
      process.exitCode = await develop(options);
    });
}
