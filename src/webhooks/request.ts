import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { messageOf } from "../errors.ts";
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
  const { signal, timeoutMs = REQUEST_DEFAULTS.timeoutMs } = delivery;
  signal.throwIfAborted();
  // AbortSignal.any with AbortSignal.timeout would be shorter; in Node 20 such a signal can be collected before it fires.
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal.reason);
  const onTime = () => stop.abort(new Undelivered(`the receiver did not answer within ${timeoutMs} ms`));
  const timer = setTimeout(onTime, timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const answer = await send(delivery, stop.signal);
    await discard(answer);
    return { status: answer.statusCode ?? 0, retryAfter: answer.headers["retry-after"] };
  } catch (error) {
    // Whatever broke when the signal fired is only its consequence.
    if (stop.signal.aborted) throw stop.signal.reason;
    throw undelivered(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function send({ url: target, headers, body, guard }: Delivery, signal: AbortSignal): Promise<IncomingMessage> {
  // Both judge: a name by its addresses when it is looked up, an address here, since Node looks up none for it.
  const url = guard.admit(target);
  const { request } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    request(url, {
      method: "POST",
      // No agent: a connection that another request left open was checked for that request, not for this one.
      agent: false,
      lookup: guard.lookup(url),
      signal,
      headers: { ...headers, "content-length": Buffer.byteLength(body) },
    })
      .on("response", resolve)
      .on("error", reject)
      // Some ends are neither, e.g. a switch of protocols that nobody asked for.
      .on("close", () => reject(new Undelivered("the receiver closed the connection without an answer")))
      .end(body);
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
  if (error instanceof Undelivered) return error;
  if (error instanceof TargetRefused) return new Undelivered(`the receiver is refused: ${error.message}`);
  const reason = (error as NodeJS.ErrnoException).code ?? messageOf(error);
  return new Undelivered(`the receiver cannot be reached (${reason})`, { cause: error });
}
