import type { IncomingMessage } from "node:http";
import { messageOf } from "../errors.ts";
import { withDeadline } from "../net/deadline.ts";
import { sendGuarded } from "../net/guarded-request.ts";
import { readLimited } from "../net/read-limited.ts";
import { type AddressGuard, TargetRefused } from "../net/ssrf-guard.ts";

/** Limits of one attempt. */
export const REQUEST_DEFAULTS = {
  /** From the look-up of the name to the end of the answer. */
  timeoutMs: 15_000,
  /**
   * Once the status is there, this much of the answer is read, for so long, and thrown away: a receiver that is cut off in
   * mid-answer may take it for a failure.
   */
  answerBytes: 16_384,
  answerMs: 1000,
} as const;

/** No answer was had; the message may be kept and shown to whoever runs the server. */
export class Undelivered extends Error {
  override readonly name = "Undelivered";
}

/** What is sent, to whom, and who may be contacted at all. */
export interface Delivery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly guard: AddressGuard;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

/** What a receiver answered; its body is nobody's concern. */
export interface ReceiverAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/**
 * Posts a body, following no redirect.
 * @throws Undelivered that says why there is no answer
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

/** Reads an answer's body to its end or the limits, and lets go of it. */
async function discard(answer: IncomingMessage): Promise<void> {
  const timer = setTimeout(() => answer.destroy(), REQUEST_DEFAULTS.answerMs);
  try {
    await readLimited(answer, { maxBytes: REQUEST_DEFAULTS.answerBytes });
  } catch {
    // Its status has been told: that the rest of it did not arrive changes nothing.
  } finally {
    clearTimeout(timer);
    answer.destroy();
  }
}

/** The cause goes to the log; what is kept of it is a code, since it may name addresses. */
function undelivered(error: unknown): Undelivered {
  if (error instanceof TargetRefused) return new Undelivered(`the receiver is refused: ${error.message}`);
  const reason = (error as NodeJS.ErrnoException).code ?? messageOf(error);
  return new Undelivered(`the receiver cannot be reached (${reason})`, { cause: error });
}
