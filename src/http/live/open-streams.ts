import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import { senderOf } from "../sender.ts";
import { whenClosed } from "../server/response.ts";

/** The Retry-After for a caller with too many streams, seconds: one of them may have ended by then. */
const RETRY_AFTER_S = 5;

/**
 * The event streams and long polls that are open in this process, including those for leases, by sender. Each occupies a connection
 * for as long as it waits, so their number is limited per sender.
 */
export class OpenStreams {
  readonly #max: number;
  readonly #bySender = new Map<string, number>();

  /** @param max per API key, or per address if none was sent */
  constructor(max: number) {
    this.#max = max;
  }

  /** Counts one more until its connection closes. @throws ProblemError rate-limited */
  add(ctx: Context): void {
    const sender = senderOf(ctx);
    const open = this.#bySender.get(sender) ?? 0;
    if (open >= this.#max) {
      throw new ProblemError("rate-limited", `At most ${this.#max} streams and long polls may be open at once.`, {
        retryAfterS: RETRY_AFTER_S,
      });
    }
    this.#bySender.set(sender, open + 1);
    whenClosed(ctx.res, () => this.#remove(sender));
  }

  #remove(sender: string): void {
    const left = (this.#bySender.get(sender) ?? 1) - 1;
    if (left > 0) this.#bySender.set(sender, left);
    else this.#bySender.delete(sender);
  }
}
