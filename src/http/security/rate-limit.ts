import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { Rate } from "../../config/values.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { withTimeout } from "../../net/with-timeout.ts";
import type { Connection } from "../../store/connection.ts";
import type { Keys } from "../../store/keys.ts";

/** How long a request waits to be counted, ms. With the store's own time it stays within the 5 s of `store-unavailable`. */
const COUNT_MS = 500;

/** What is left of an allowance. */
export interface Left {
  readonly remaining: number;
  /** Until there is all of it again, whole seconds. */
  readonly resetS: number;
  /** This request was one too many. */
  readonly exceeded: boolean;
}

/**
 * How many requests each one may send in a span, counted in Redis for all processes together. Without the store it lets
 * everyone through and says so once: whoever needs the store is told by the request itself, and all else should go on.
 */
export class RateLimit {
  readonly rate: Rate;
  readonly #limiter: RateLimiterRedis;
  readonly #keys: Keys;
  readonly #log: Logger;
  #away = false;

  constructor(rate: Rate, { redis, keys, log }: { redis: Connection; keys: Keys; log: Logger }) {
    this.rate = rate;
    this.#keys = keys;
    this.#log = log;
    this.#limiter = new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: "",
      points: rate.max,
      duration: rate.perS,
      rejectIfRedisNotReady: true,
      // Whoever is over the limit is known to be so until it ends: it costs the store nothing to refuse them.
      inMemoryBlockOnConsumed: rate.max + 1,
    });
  }

  /** Counts one request; undefined when the store is away. */
  async take(subject: string): Promise<Left | undefined> {
    const late = () => new Error(`no answer within ${COUNT_MS} ms`);
    try {
      const count = await withTimeout(COUNT_MS, this.#limiter.consume(this.#keys.requests(subject)), late);
      this.#away = false;
      return left(count, false);
    } catch (thrown) {
      if (thrown instanceof RateLimiterRes) return left(thrown, true);
      if (!this.#away) this.#log.warn({ reason: messageOf(thrown) }, "requests cannot be counted: all are let through");
      this.#away = true;
      return undefined;
    }
  }
}

function left({ remainingPoints, msBeforeNext }: RateLimiterRes, exceeded: boolean): Left {
  return { remaining: remainingPoints, resetS: Math.max(0, Math.ceil(msBeforeNext / 1000)), exceeded };
}
