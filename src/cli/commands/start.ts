import { type Command, Option } from "commander";
import type { ServerRole } from "../../config/variables.ts";
import { DURATION_HELP, readDuration } from "../arguments.ts";
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
      const { startServer } = await import("../start/start.ts");
      await startServer({ ROLE: role, HANDLERS: handlers, PORT: port }, { dev });
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
      const { develop } = await import("../start/dev.ts");
      process.exitCode = await develop(options);
    });
}

/** `paihao demo`: a deployment that runs by itself, to look at. */
export function demoCommand(): Command {
  return command("demo", "show a server with queues, traffic and faults, without any set-up", [
    "paihao demo",
    "paihao demo --port 8080 --kill 20s",
  ])
    .addOption(new Option("--port <port>", "port to listen on").env("PORT").default("3000"))
    .addOption(
      new Option("--kill <time>", `how often a worker is killed: ${DURATION_HELP}`)
        .argParser(readDuration)
        .default(60_000, "1 min"),
    )
    .action(async (options: { port: string; kill: number }) => {
      const { demo } = await import("../demo/demo.ts");
      await demo(options);
    });
}
