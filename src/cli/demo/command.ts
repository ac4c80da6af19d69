import { type Command, Option } from "commander";
import { command } from "../command.ts";
import { DURATION_HELP, readDuration } from "../values.ts";

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
        .default(60_000, "1m"),
    )
    .action(async (options: { port: string; kill: number }) => {
      const { demo } = await import("./demo.ts");
      await demo(options);
    });
}
