import { setTimeout as delay } from "node:timers/promises";
import { PaihaoClient } from "../client/client.ts";
import type { AnyHandlers } from "../client/handler-types.ts";
import { type Duration, parseDuration } from "../config/duration.ts";
import type { Handler } from "../handler/define.ts";
import { type Server, type StartOptions, startServer } from "../library.ts";

const DRAIN = { everyMs: 20, within: "10s" } as const;

type Handlers = readonly Handler[] | string;

/** The handlers of a list by their queues, for the types of the client; those of a directory are not known. */
type ByQueue<H extends Handlers> = H extends readonly Handler[]
  ? { readonly [Q in H[number]["queue"]]: Extract<H[number], { readonly queue: Q }> }
  : AnyHandlers;

/** The options of {@link testServer}: handlers, and any option of `start()`. */
export interface TestServerOptions<H extends Handlers = Handlers> extends StartOptions {
  readonly handlers: H;
  /** The API key that the client sends, for a server with `apiKeys`. */
  readonly key?: string | undefined;
}

/** A server for tests; `await using` stops it. */
export interface TestServer<H extends Handlers = Handlers> extends Server {
  /** A client of the server, typed by the handlers. */
  readonly client: PaihaoClient<ByQueue<H>>;
  /**
   * Resolves when no task is waiting, scheduled, retrying or running, including webhooks and undo.
   * @throws Error that names the remaining tasks if that takes longer than `within`, default 10 s
   */
  drained(options?: { readonly within?: Duration }): Promise<void>;
}

/**
 * Starts a server with workers, on its own port and its own embedded store, whose data is gone when the server stops. It logs
 * nothing unless `logLevel` or `log` is given, and stops without waiting for running tasks unless `drainTimeout` is given.
 * @throws StartError that names the setting, its value and what was expected
 */
export async function testServer<const H extends Handlers>({
  key,
  ...options
}: TestServerOptions<H>): Promise<TestServer<H>> {
  const running = await startServer({ store: "embedded", port: 0, logLevel: "silent", drainTimeout: 0, ...options });
  const { url = "", queues, store } = running;
  const stop = () => running.stop();
  const left = async () => {
    const rows = (await running.figures()).map(({ snapshot }) => snapshot);
    return rows.filter(({ waiting, scheduled, running: busy }) => waiting + scheduled + busy > 0);
  };
  return {
    ...{ url, queues, store, stop, [Symbol.asyncDispose]: stop },
    client: new PaihaoClient({ url, key }),
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
