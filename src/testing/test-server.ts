import { setTimeout as delay } from "node:timers/promises";
import { type Duration, parseDuration } from "../config/duration.ts";
import type { Settings } from "../config/settings.ts";
import type { Handler } from "../handler/define.ts";
import { type Server, type StartOptions, startServer } from "../library.ts";

const DRAIN = { everyMs: 20, within: "10s" } as const;

/** The options of {@link testServer}: handlers, and any setting of the server. */
export interface TestServerOptions<Handlers extends readonly Handler[] | string>
  extends Settings,
    Omit<StartOptions, "handlers"> {
  readonly handlers: Handlers;
}

/** A server for tests; `await using` stops it. */
export interface TestServer extends Server {
  /**
   * Resolves when nothing waits, is scheduled, waits for another attempt, or runs, including webhooks and undo.
   * @throws Error that names what is left if that takes longer than `within`, default 10 s
   */
  drained(options?: { readonly within?: Duration }): Promise<void>;
}

/**
 * Starts a server with workers on a port of its own and on a store of its own, the embedded one, whose data is gone when it stops. It
 * logs nothing unless `logLevel` or `log` is given, and stops without waiting for running tasks unless `drainTimeout` is.
 * @throws StartError that names the setting, its value and what was expected
 */
export async function testServer<const Handlers extends readonly Handler[] | string>(
  options: TestServerOptions<Handlers>,
): Promise<TestServer> {
  const running = await startServer({ store: "embedded", port: 0, logLevel: "silent", drainTimeout: 0, ...options });
  const { url = "", queues, store } = running;
  const stop = () => running.stop();
  const left = async () => {
    const rows = (await running.figures()).map(({ snapshot }) => snapshot);
    return rows.filter(({ waiting, scheduled, running: busy }) => waiting + scheduled + busy > 0);
  };
  return {
    ...{ url, queues, store, stop, [Symbol.asyncDispose]: stop },
    async drained({ within = DRAIN.within } = {}) {
      const deadline = performance.now() + (parseDuration(within) ?? 0);
      for (let rows = await left(); rows.length > 0; rows = await left()) {
        if (performance.now() > deadline) {
          const each = rows.map(({ queue, waiting, scheduled, running: busy, paused }) => {
            return `${queue}${paused ? " (paused)" : ""}: ${waiting} waiting, ${scheduled} scheduled, ${busy} running`;
          });
          throw new Error(`not drained within ${within}: ${each.join("; ")}`);
        }
        await delay(DRAIN.everyMs);
      }
    },
  };
}
