import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { Rate } from "../../config/values.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { withTimeout } from "../../net/with-timeout.ts";
import type { Connection } from "../../store/connection.ts";
import type { Keys } from "../../store/keys.ts";

/** How long a request waits to be counted, ms. Together with the store's timeout this is below the 5 s of `store-unavailable`. */
const COUNT_MS = 500;

/** What is left of a caller's quota. */
export interface Allowance {
  readonly remaining: number;
  /** Whole seconds until all of them are available again. */
  readonly resetS: number;
  /** This request exceeded the limit. */
  readonly exceeded: boolean;
}

/**
 * Limits the requests of each sender in a time span, counted in Redis for all processes together. While the store is
 * unreachable, all requests pass, which is logged once: those that need the store fail anyway, and the others should not.
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
      // A sender over the limit is refused from memory until the span ends, without a call to the store.
      inMemoryBlockOnConsumed: rate.max + 1,
    });
  }

  /** Counts one request; undefined when the store does not answer. */
  async take(subject: string): Promise<Allowance | undefined> {
    const late = () => new Error(`no answer within ${COUNT_MS} ms`);
    try {
      const count = await withTimeout(COUNT_MS, this.#limiter.consume(this.#keys.requests(subject)), late);
      this.#away = false;
      return allowance(count, false);
    } catch (thrown) {
      if (thrown instanceof RateLimiterRes) return allowance(thrown, true);
      if (!this.#away)
        this.#log.warn({ reason: messageOf(thrown) }, "rate limit: could not count requests; letting all through");
      this.#away = true;
      return undefined;
    }
  }
}

function allowance({ remainingPoints, msBeforeNext }: RateLimiterRes, exceeded: boolean): Allowance {
  return { remaining: remainingPoints, resetS: Math.max(0, Math.ceil(msBeforeNext / 1000)), exceeded };
}
