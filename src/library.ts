import { readConfig, secretsOf } from "./config/config.ts";
import { inSettings, type Settings, variablesOf } from "./config/settings.ts";
import { StartError } from "./errors.ts";
import { type Handler, isHandler } from "./handler/define.ts";
import type { Logger } from "./log.ts";
import type { Started } from "./running.ts";

/** The options of {@link start}. */
export interface StartOptions extends Settings {
  /** The handlers, or the path of a directory of handler files, which `isolate` requires. */
  readonly handlers: readonly Handler[] | string;
  /** Where settings are read that are not given here, such as `process.env`. Default: nowhere. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The log; default: JSON lines on standard output, from `logLevel` on. */
  readonly log?: Logger | undefined;
}

/** A server that {@link start} has started; `await using` stops it. */
export interface Server<Url extends string | undefined = string> {
  /** Where it listens. */
  readonly url: Url;
  readonly queues: readonly string[];
  /** One line that says which store it is, and where its data is. */
  readonly store: string;
  /** Lets running tasks and waiting callers end, for `drainTimeout` at most, then closes everything. Idempotent. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a server in this process: the API, its workers, and a store if `redisUrl` is not set. A process may have several. Reads no
 * environment variable and no `.env`, handles no signal, and never ends the process.
 * @throws StartError that names the setting, its value and what was expected
 */
export function start(options: StartOptions & { readonly role: "worker" }): Promise<Server<string | undefined>>;
export function start(options: StartOptions): Promise<Server>;
export async function start(options: StartOptions): Promise<Server<string | undefined>> {
  const running = await startServer(options);
  const stop = () => running.stop();
  return { url: running.url, queues: running.queues, store: running.store, stop, [Symbol.asyncDispose]: stop };
}

/** Like {@link start}, for `paihao/testing`, which also looks at the queues. */
export async function startServer({ handlers, env = {}, log, ...settings }: StartOptions): Promise<Started> {
  try {
    const overrides = {
      HANDLERS: typeof handlers === "string" ? handlers : "",
      WEB_CONCURRENCY: "1",
      ...variablesOf(settings),
    };
    const config = readConfig(env, overrides);
    const given = typeof handlers === "string" ? undefined : byQueue(handlers);
    // Loaded only now: a handler file imports this package too, and needs no server.
    const [server, { createLog }] = await Promise.all([import("./server.ts"), import("./log.ts")]);
    const logger = log ?? createLog(config.logLevel, { secrets: secretsOf(config) });
    return await server.start(config, logger, { handlers: given });
  } catch (error) {
    // By its name: the server may have been loaded as another copy of the class, e.g. by a test runner.
    if (!(error instanceof Error) || error.name !== "StartError") throw error;
    throw new StartError(inSettings(error.message), { cause: error.cause });
  }
}

/** Checks handlers as TypeScript may not have. @throws StartError */
function byQueue(handlers: readonly unknown[]): ReadonlyMap<string, Handler> {
  if (!Array.isArray(handlers) || handlers.length === 0) {
    throw new StartError(
      "there are no handlers, expected handlers: [defineHandler(…)], or the path of their directory",
    );
  }
  const found = new Map<string, Handler>();
  for (const [i, handler] of handlers.entries()) {
    if (!isHandler(handler)) throw new StartError(`handlers[${i}] is not what defineHandler() returns`);
    if (found.has(handler.queue) && found.get(handler.queue) !== handler) {
      throw new StartError(`two handlers for the queue "${handler.queue}"`);
    }
    found.set(handler.queue, handler);
  }
  return found;
}
