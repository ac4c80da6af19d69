import type { Engine } from "../engine/engine.ts";
import type { Handler } from "../handler/define.ts";
import type { Logger } from "../log.ts";
import type { OpenStreams } from "./live/open-streams.ts";

/** What the routes work with. */
export interface Api {
  readonly engine: Engine;
  readonly handlers: ReadonlyMap<string, Handler>;
  /** Those of the server's own work: their queues are looked at and looked after, but nobody submits to them. */
  readonly ownHandlers: ReadonlyMap<string, Handler>;
  readonly log: Logger;
  readonly maxBodyBytes: number;
  readonly maxResultBytes: number;
  /** Longest a synchronous request is held, ms. */
  readonly syncLimitMs: number;
  /** How a pending result is answered where the request does not say. */
  readonly pendingStatus: 404 | 202;
  /** Fires when the server begins to stop: streams end, so that their clients go on elsewhere; requests are answered. */
  readonly stopping: AbortSignal;
  /** Fires when the time for that is over: callers who are held are answered with what there is. */
  readonly closing: AbortSignal;
  readonly streams: OpenStreams;
  /** The webhook as it will be told. @throws PaihaoError invalid-parameter when it may not be */
  checkWebhook(url: string): Promise<string>;
  /** What speaks against sending work here: empty when ready. */
  readiness(): Promise<readonly string[]>;
}
