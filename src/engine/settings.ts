import type { Config } from "../config/config.ts";
import type { Handler } from "../handler/define.ts";
import { isInternalQueue } from "../handler/internal-queues.ts";
import { HANDLER_DEFAULTS } from "../handler/options.ts";
import type { Retention } from "../store/task/record.ts";

/** The settings of every queue, unless its handler overrides them. */
type Defaults = Pick<
  Config,
  "concurrency" | "attempts" | "leaseMs" | "resultTtlMs" | "tombstoneTtlMs" | "deadTtlMs" | "maxWaiting" | "showStacks"
>;

/** The settings of a queue: from its handler, otherwise from the environment. */
export interface QueueSettings
  extends Readonly<Defaults>,
    Pick<Handler, "queue" | "timeoutMs" | "backoff" | "rate" | "targetWaitMs" | "warmupMs" | "batch" | "turns"> {
  /** How many tasks run at once over all processes; undefined for any number. */
  readonly total: number | undefined;
  readonly maxLost: number;
  /** Whether not only the line decides when work is taken, see {@link Gate}. */
  readonly gated: boolean;
  /** How many tasks of one key run at once; undefined if the line is not keyed. A line with a `limit` is keyed by caller. */
  readonly keyedConcurrency: number | undefined;
  /** With a `limit`, how many tasks of one key may wait, Infinity for any number. */
  readonly keyedWaiting?: number | undefined;
  /** Whether the input of a task is dropped once it has succeeded, unless it can be undone. */
  readonly dropInput: boolean;
  /** The handler has undos. */
  readonly undo: boolean;
  /** Whether the undo of a task, or the next task of its key, must wait until its handler has ended. */
  readonly exclusive: boolean;
}

/** A number above any count that Lua represents exactly. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** More than any key has running. */
const ANY_NUMBER = 1_000_000_000;

/** How long the finished tasks of a queue are kept. */
export function retentionOf(settings: QueueSettings): Retention {
  return { keepMs: settings.resultTtlMs, tombstoneMs: settings.tombstoneTtlMs };
}

/** The settings of a handler's queue. */
export function settingsOf(handler: Handler, config: Defaults): QueueSettings {
  const { keyed, limit } = handler;
  return {
    queue: handler.queue,
    concurrency: handler.concurrency.each ?? config.concurrency,
    total: handler.concurrency.total,
    turns: handler.turns,
    attempts: handler.attempts ?? config.attempts,
    leaseMs: handler.leaseMs ?? config.leaseMs,
    timeoutMs: handler.timeoutMs,
    backoff: handler.backoff,
    // The server's own tasks are never given up because of lost workers.
    maxLost: isInternalQueue(handler.queue) ? UNLIMITED : (handler.maxLost ?? HANDLER_DEFAULTS.maxLost),
    rate: handler.rate,
    batch: handler.batch,
    gated: handler.gated === true,
    targetWaitMs: handler.targetWaitMs,
    warmupMs: handler.warmupMs,
    keyedConcurrency: limit ? (limit.running ?? ANY_NUMBER) : keyed?.concurrency,
    keyedWaiting: limit && (limit.waiting ?? Number.POSITIVE_INFINITY),
    dropInput: !handler.keepInput || handler.entrance !== undefined,
    undo: handler.undo !== undefined,
    exclusive: handler.undo !== undefined || keyed !== undefined || limit?.running !== undefined,
    resultTtlMs: handler.resultTtlMs ?? config.resultTtlMs,
    tombstoneTtlMs: handler.tombstoneTtlMs ?? config.tombstoneTtlMs,
    deadTtlMs: config.deadTtlMs,
    maxWaiting: config.maxWaiting,
    showStacks: config.showStacks,
  };
}
