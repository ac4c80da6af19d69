import type { IncomingMessage } from "node:http";
import { messageOf } from "../../errors.ts";
import { withDeadline } from "../../net/deadline.ts";
import { sendGuarded } from "../../net/guarded-request.ts";
import { readLimited } from "../../net/read-limited.ts";
import { type AddressGuard, TargetRefused } from "../../net/ssrf-guard.ts";

/** Limits of one attempt. */
const REQUEST_DEFAULTS = {
  /** From the look-up of the name to the end of the response. */
  timeoutMs: 15_000,
  /**
   * After the status, this much of the body is read, for this long, and discarded: a receiver whose response is cut off may take that for a
   * failure.
   */
  answerBytes: 16_384,
  answerMs: 1000,
} as const;

/** There was no response. The message may be stored and shown to the operator. */
export class Undelivered extends Error {
  override readonly name = "Undelivered";
}

/** A body, its target, and the guard for the connection. */
export interface Delivery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly guard: AddressGuard;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

/** The response of a receiver, without its body. */
export interface ReceiverAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/**
 * Posts a body, without following redirects.
 * @throws Undelivered that says why there is no response
 * @throws the signal's reason when it fires
 */
export async function post(delivery: Delivery): Promise<ReceiverAnswer> {
  const { url, guard, headers, body, timeoutMs = REQUEST_DEFAULTS.timeoutMs } = delivery;
  const late = () => new Undelivered(`the receiver did not answer within ${timeoutMs} ms`);
  return await withDeadline({ signal: delivery.signal, ms: timeoutMs, late }, async (signal) => {
    try {
      const answer = await sendGuarded(url, guard, { method: "POST", headers, body, signal });
      await discard(answer);
      return { status: answer.statusCode ?? 0, retryAfter: answer.headers["retry-after"] };
    } catch (error) {
      throw undelivered(error);
    }
  });
}

/** Reads and discards a response body, up to the limits. */
async function discard(answer: IncomingMessage): Promise<void> {
  const timer = setTimeout(() => answer.destroy(), REQUEST_DEFAULTS.answerMs);
  try {
    await readLimited(answer, { maxBytes: REQUEST_DEFAULTS.answerBytes });
  } catch {
    // The status is known, so it does not matter if the rest did not arrive.
  } finally {
    clearTimeout(timer);
    answer.destroy();
  }
}

/** The cause is only logged; the stored message has just its code, since it may contain addresses. */
function undelivered(error: unknown): Undelivered {
  if (error instanceof TargetRefused) return new Undelivered(`the receiver is refused: ${error.message}`);
  const reason = (error as NodeJS.ErrnoException).code ?? messageOf(error);
  return new Undelivered(`the receiver cannot be reached (${reason})`, { cause: error });
}
