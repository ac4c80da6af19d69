import { type Config, misspeltVariables, readConfig } from "../../config/config.ts";
import { secretsOf } from "../../config/secrets.ts";
import { createLog } from "../../log.ts";
import type { Running } from "../../running.ts";
import { start } from "../../server.ts";
import { counted, duration } from "../../words/numbers.ts";
import { note } from "../terminal/print.ts";
import { endAfter, endWhenStuck } from "./ending.ts";
import { startFleet } from "./fleet.ts";
import { surviveRejections } from "./last-resort.ts";
import { writeForPeople } from "./people.ts";
import { keepObjectsYoung } from "./young-objects.ts";

/**
 * `paihao start`: runs the server until SIGINT or SIGTERM, then drains; one that comes during the start ends that. A second signal ends
 * it at once.
 * @param overrides variables given as options; they win over the environment, which wins over `.env`
 * @param dev for who writes handlers: the log is for people, and running tasks are not waited for
 */
export async function startServer(overrides: Readonly<Record<string, string | undefined>>, dev = false): Promise<void> {
  keepObjectsYoung();
  const config = readConfig(undefined, { ...overrides, ...(dev && DEV) });
  const destination = dev ? { destination: { write: writeForPeople } } : {};
  const log = createLog(config.logLevel, { secrets: secretsOf(config), ...destination });
  surviveRejections(log);
  for (const { name, meant } of misspeltVariables())
    log.warn({ variable: name, meant }, "nothing reads this variable; is its name misspelt?");
  const several = config.webConcurrency > 1 && config.role !== "worker";
  const stopping = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping.signal.aborted) return;
    for (const again of ["SIGINT", "SIGTERM"] as const)
      process.removeListener(again, onSignal).once(again, () => process.exit(130));
    tellStop(signal, config);
    stopping.abort();
    starting.then(
      (running) => {
        tellWait(running, config);
        endAfter(running, log);
      },
      () => process.exit(),
    );
  };
  const reload = () => starting.then((running) => running.reload()).catch(() => undefined);
  // Before the start: a signal that nothing listens to ends this process, and leaves its store behind.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  // Without anything to read again it ends: closing the terminal ends the server, as people expect.
  process.on("SIGHUP", several || config.apiKeysFile !== undefined ? reload : onSignal);
  const { signal } = stopping;
  const starting = several ? startFleet(config, overrides, log, signal) : start(config, log, { signal });
  if (dev) onParentEnd(() => onSignal("SIGTERM"));
  try {
    const running = await starting;
    endWhenStuck(running, log);
    if (!signal.aborted) for (const line of greeting(running, config)) note(line);
  } catch (error) {
    // After a signal, this is only its consequence.
    if (!signal.aborted) throw error;
  }
}

/** Settings while handlers are written: a changed file is not kept waiting, one process is enough, and errors are for who wrote them. */
const DEV = { DRAIN_TIMEOUT: "0", WEB_CONCURRENCY: "1", SHOW_STACKS: "true" } as const;

/** Calls when `paihao dev` closes the channel, as it does for a new start, or is gone. */
function onParentEnd(end: () => void): void {
  process.on("disconnect", end);
  // The channel alone does not keep this process alive.
  process.channel?.unref();
  // It may have been closed before that was listened to.
  if (process.connected === false) end();
}

/** If the server has not stopped by then, it says what it waits for, ms. */
const TELL_MS = 500;

/** Says that the server stops, and that it has stopped. */
function tellStop(signal: string, { role }: Config): void {
  const began = performance.now();
  note(`paihao ${role} is stopping: ${signal}; another one ends it at once`);
  process.once("exit", () => note(`paihao ${role} has stopped after ${span(performance.now() - began)}`));
}

/** Says what a server that stops waits for, if it is long. */
function tellWait(running: Running, { role, drainTimeoutMs }: Config): void {
  setTimeout(async () => {
    const busy = await running.busy?.();
    const what = busy
      ? `${counted(busy.tasks, "running task")} and ${counted(busy.connections, "connection")}`
      : "its processes";
    note(`paihao ${role} waits for ${what}, for ${span(drainTimeoutMs)} at most`);
  }, TELL_MS);
}

const span = (ms: number) => duration(ms / 1000);

/** What is printed when the server is ready: which store, the URLs, and a command to try. */
function greeting(running: Running, { role, apiKeys, apiKeysFile }: Config): string[] {
  const queues = `queues: ${running.queues.join(", ")}`;
  if (running.url === undefined || role === "worker") return [`paihao ${role} is ready · ${queues} · ${running.store}`];
  const key = apiKeys.length > 0 || apiKeysFile !== undefined ? ` -H "Authorization: Bearer $PAIHAO_KEY"` : "";
  const sample = running.queues.includes("default")
    ? [
        `try: curl -i -X POST${key}`,
        `${running.url}/v1/requests`,
        "-H 'Prefer: respond-async' -H 'Content-Type: application/json'",
        `-d '{"seconds":3}'`,
      ].join(" ")
    : `try: curl${key} ${running.url}/v1/queues`;
  const dashboard = `dashboard: ${running.url}/dashboard`;
  return [running.store, queues, `paihao ${role} is ready on ${running.url}`, dashboard, sample];
}
