import { setFlagsFromString } from "node:v8";
import pino from "pino";
import { type Config, misspeltVariables, readConfig, secretsOf } from "../../config/config.ts";
import type { Handler } from "../../handler/define.ts";
import { createLog, type Logger } from "../../log.ts";
import type { Running } from "../../running.ts";
import { start } from "../../server.ts";
import { note, plainLines } from "../terminal/print.ts";
import { startFleet } from "./fleet.ts";
import { endWhenStuck, stopAtSignals, surviveRejections } from "./shutdown.ts";

/** Variables that win over the environment, which wins over `.env`. */
type Overrides = Readonly<Record<string, string | undefined>>;

/** What a start may have beside its settings. */
interface Start {
  /** For who writes handlers: the log is for people, and running tasks are not waited for. */
  readonly dev?: boolean | undefined;
  /** In place of those in files; in a single process. */
  readonly handlers?: ReadonlyMap<string, Handler>;
  /** What is printed when the server is ready. */
  greet?(running: Running, config: Config): readonly string[];
}

/** Settings while handlers are written: a changed file is not kept waiting, one process is enough, and errors are for who wrote them. */
const DEV = { DRAIN_TIMEOUT: "0", WEB_CONCURRENCY: "1", SHOW_STACKS: "true" } as const;

/**
 * `paihao start`: runs the server until SIGINT or SIGTERM.
 * @param overrides variables given as options
 * @returns what fires when it is told to stop
 */
export async function startServer(
  overrides: Overrides,
  { dev = false, handlers, greet = greeting }: Start = {},
): Promise<AbortSignal> {
  const { config, log } = prepareProcess(dev ? { ...overrides, ...DEV } : overrides, dev);
  for (const { name, meant } of misspeltVariables())
    log.warn({ variable: name, meant }, "nothing reads this variable; is its name misspelt?");
  const several = config.webConcurrency > 1 && config.role !== "worker" && handlers === undefined;
  const { starting, signal } = stopAtSignals(
    (ended) => (several ? startFleet(config, overrides, log, ended) : start(config, log, { signal: ended, handlers })),
    { config, log, reloads: several || config.apiKeysFile !== undefined, dev },
  );
  try {
    const running = await starting;
    endWhenStuck(running, log);
    if (!signal.aborted) for (const line of greet(running, config)) note(line);
  } catch (error) {
    // After a signal, this is only its consequence.
    if (!signal.aborted) throw error;
  }
  return signal;
}

/** Reads the settings of a process of a server, opens its log, and prepares it for its work. @param dev the log is for people */
export function prepareProcess(overrides: Overrides = {}, dev = false): { config: Config; log: Logger } {
  keepObjectsYoung();
  const config = readConfig(undefined, overrides);
  const destination = dev ? { destination: { write: writeForPeople } } : {};
  const log = createLog(config.logLevel, { secrets: secretsOf(config), ...destination });
  surviveRejections(log);
  return { config, log };
}

/**
 * Lets V8 create all objects in the young generation. When load begins, requests that wait for the store survive the first collections, which
 * come soon after each other, and V8 concludes that objects of their kind live long. It then creates these in the old generation, where each
 * keeps its request alive until a major collection. `npm run bench -- where` shows the time of garbage collection; `npm run bench -- sustained`
 * shows the latency without that.
 */
function keepObjectsYoung(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}

/** Writes a line of the log as people read it: when, how bad, what, the rest as JSON, and below it the stack of an error. */
function writeForPeople(line: string): void {
  const { time, level, msg, err, pid: _, ...rest } = JSON.parse(line);
  const clock = new Date(time).toTimeString().slice(0, 8);
  const more = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : "";
  const lines = [
    `[${clock}] ${pino.levels.labels[level]?.toUpperCase()} ${msg}${more}`,
    ...(err?.stack?.split("\n") ?? []),
  ];
  process.stdout.write(`${plainLines(lines.join("\n  "))}\n`);
}

/** What is printed when the server is ready: which store, the URLs, and a command to try. */
function greeting(running: Running, { role, apiKeys, apiKeysFile }: Config): string[] {
  const queues = `queues: ${running.queues.join(", ")}`;
  if (running.url === undefined || role === "worker") return [`paihao ${role} is ready · ${queues} · ${running.store}`];
  const key = apiKeys.length > 0 || apiKeysFile !== undefined ? ` -H "Authorization: Bearer $PAIHAO_KEY"` : "";
  const { path = "/v1/queues", options = "" } = running.sample ?? {};
  const dashboard = `dashboard: ${running.url}/dashboard`;
  return [
    running.store,
    queues,
    ...running.doors.map(({ description }) => description),
    `paihao ${role} is ready on ${running.url}`,
    dashboard,
    `try: curl -i${key} ${running.url}${path}${options}`,
  ];
}
