import { misspeltVariables, readConfig } from "../config/config.ts";
import { secretsOf } from "../config/secrets.ts";
import { createLog } from "../log.ts";
import { type Running, start } from "../server.ts";
import { endAfter, endWhenStuck } from "./ending.ts";
import { startFleet } from "./fleet.ts";
import { surviveRejections } from "./last-resort.ts";
import { note } from "./terminal/print.ts";

/**
 * `paihao start`: runs the server until SIGINT or SIGTERM, then drains. A second signal ends it at once.
 * @param overrides variables given as options; they win over the environment, which wins over `.env`
 */
export async function startServer(overrides: Readonly<Record<string, string | undefined>>): Promise<void> {
  const config = readConfig(undefined, overrides);
  const log = createLog(config.logLevel, { secrets: secretsOf(config) });
  surviveRejections(log);
  for (const { name, meant } of misspeltVariables())
    log.warn({ variable: name, meant }, "nothing reads this variable; is its name misspelt?");
  const several = config.webConcurrency > 1 && config.role !== "worker";
  const running = several ? await startFleet(config, overrides, log) : await start(config, log);
  for (const line of greeting(running, config.role)) note(line);
  const onSignal = () => {
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.removeListener(signal, onSignal).once(signal, () => process.exit(130));
    endAfter(running, log);
  };
  endWhenStuck(running, log);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  // Without anything to read again it ends: closing the terminal ends the server, as people expect.
  process.on("SIGHUP", several || config.apiKeysFile !== undefined ? () => running.reload() : onSignal);
}

/** What is printed when the server is ready: which store, the URLs, and a command to try. */
function greeting(running: Running, role: string): string[] {
  const queues = `queues: ${running.queues.join(", ")}`;
  if (running.url === undefined || role === "worker") return [`paihao ${role} is ready · ${queues} · ${running.store}`];
  const sample = running.queues.includes("default")
    ? [
        "try: curl -i -X POST",
        `${running.url}/v1/requests`,
        "-H 'Prefer: respond-async' -H 'Content-Type: application/json'",
        `-d '{"seconds":3}'`,
      ].join(" ")
    : `try: curl ${running.url}/v1/queues`;
  const dashboard = `dashboard: ${running.url}/dashboard`;
  return [running.store, queues, `paihao ${role} is ready on ${running.url}`, dashboard, sample];
}
