import type { Context } from "koa";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import type { Rate } from "../../config/values.ts";
import { messageOf, ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { withTimeout } from "../../net/deadline.ts";
import type { Connection } from "../../store/connection.ts";
import type { Keys } from "../../store/keys.ts";
import { senderOf } from "../request/access.ts";
import { routeOf } from "../route.ts";

/**
 * Counts a request of its API key, or of its address if none was sent, and reports what is left in RateLimit headers
 * (draft-ietf-httpapi-ratelimit-headers-10). Refused requests count too; routes open to everyone, such as health
 * and documentation, do not.
 * @throws ProblemError rate-limited
 */
export async function countRequest(ctx: Context, limit: RateLimit): Promise<void> {
  if (routeOf(ctx)?.scopes === "none") return;
  const left = await limit.take(senderOf(ctx));
  if (!left) return;
  ctx.set("RateLimit-Policy", `"default";q=${limit.rate.max};w=${limit.rate.perS}`);
  ctx.set("RateLimit", `"default";r=${left.remaining};t=${left.resetS}`);
  if (left.exceeded) {
    throw new ProblemError("rate-limited", `At most ${limit.rate.max} requests in ${limit.rate.perS} s.`, {
      retryAfterS: left.resetS,
    });
  }
}

/** How long a request may wait to be counted, ms. With the store's timeout it stays below the 5 s of `store-unavailable`. */
const COUNT_MS = 500;

/** What is left of a caller's quota. */
interface Allowance {
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
  readonly #redis: Connection;
  readonly #keys: Keys;
  readonly #log: Logger;
  #away = false;

  constructor(rate: Rate, { redis, keys, log }: { redis: Connection; keys: Keys; log: Logger }) {
    this.rate = rate;
    this.#redis = redis;
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
      const key = this.#keys.requests(subject);
      const counted = this.#limiter.consume(key).then((count) => ({ count, exceeded: false }), refusal);
      const { count, exceeded } = await withTimeout(COUNT_MS, counted, late);
      this.#away = false;
      const spanMs = this.rate.perS * 1000;
      if (count.msBeforeNext > spanMs) {
        // The store's clock was set back since the span began: the span ends as if it had just begun.
        this.#limiter.deleteInMemoryBlockedAll();
        await withTimeout(COUNT_MS, this.#redis.pexpire(key, spanMs), late);
      }
      return allowance(count, exceeded, Math.min(count.msBeforeNext, spanMs));
    } catch (thrown) {
      if (!this.#away)
        this.#log.warn({ reason: messageOf(thrown) }, "rate limit: could not count requests; letting all through");
      this.#away = true;
      return undefined;
    }
  }
}

/** What the library throws when it refuses a request. */
function refusal(thrown: unknown) {
  if (thrown instanceof RateLimiterRes) return { count: thrown, exceeded: true };
  throw thrown;
}

function allowance({ remainingPoints }: RateLimiterRes, exceeded: boolean, resetMs: number): Allowance {
  return { remaining: remainingPoints, resetS: Math.max(0, Math.ceil(resetMs / 1000)), exceeded };
}
