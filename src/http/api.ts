import type { Config } from "../config/config.ts";
import type { Engine } from "../engine/engine.ts";
import type { KeyUses } from "../engine/monitoring/key-uses.ts";
import type { Handler } from "../handler/define.ts";
import type { Logger } from "../log.ts";
import type { Tracing } from "../trace/tracing.ts";
import type { IdSecret } from "./headers/request-id.ts";
import type { Streams } from "./server/streams.ts";

/** What the routes need, including the settings of the server. */
export interface Api extends Config {
  readonly engine: Engine;
  readonly handlers: ReadonlyMap<string, Handler>;
  /** The server's own handlers: their queues can be watched and managed, but not submitted to. */
  readonly ownHandlers: ReadonlyMap<string, Handler>;
  readonly log: Logger;
  /** Undefined if nothing is traced. */
  readonly tracing: Tracing | undefined;
  /** Undefined without API keys. */
  readonly keyUses: KeyUses | undefined;
  /** From which ids are derived that others cannot compute. */
  readonly idSecret: IdSecret;
  /**
   * Fires when the server begins to stop: event streams end, so that their clients reconnect elsewhere; requests are still
   * answered.
   */
  readonly stopping: AbortSignal;
  /** Fires when the time for answers is over: waiting callers get the current state. */
  readonly closing: AbortSignal;
  readonly streams: Streams;
  /** The canonical URL of a webhook; undefined if the server sends none. @throws ProblemError invalid-parameter if it is not allowed */
  readonly checkWebhook: ((url: string) => Promise<string>) | undefined;
  /** The port on which the API listens, even if 0 was configured. */
  listeningPort(): number;
  /** Why the server is not ready; empty if it is. */
  readiness(): Promise<readonly string[]>;
  /** The metrics for Prometheus, as text. */
  exposition(): Promise<string>;
}
