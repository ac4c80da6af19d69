import { backoffMs } from "../../backoff.ts";
import { ProblemError } from "../../errors.ts";

/** Pauses between two tries, ms. */
const PAUSE_MS = { baseMs: 100, maxMs: 2000 } as const;
/** How many refusals for other reasons than being unreachable are tolerated. */
const MAX_REFUSALS = 5;

/** The options of {@link retryCall}. */
export interface RetryOptions {
  /** Whether the call no longer matters. */
  done(): boolean;
  /** Called for each failed try that is followed by another. */
  onFailure(error: unknown): void;
}

/**
 * Repeats a call to the store until it succeeds, since the store may be unreachable for a while. The attempts of a task are another
 * matter: engine/tasks/attempt-end.ts.
 * @throws the last error if the call no longer matters, or if the store refuses it for another reason
 */
export function retryCall<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  return call().catch((error: unknown) => retryFailedCall(call, options, error));
}

/** The same for a call that has already failed once. */
export async function retryFailedCall<T>(
  call: () => Promise<T>,
  { done, onFailure }: RetryOptions,
  first: unknown,
): Promise<T> {
  let refusals = 0;
  let failed = first;
  for (let attempt = 1; ; attempt += 1) {
    if (!(failed instanceof ProblemError) || failed.code === "internal") refusals += 1;
    if (done() || refusals === MAX_REFUSALS) throw failed;
    onFailure(failed);
    await new Promise((resolve) => setTimeout(resolve, backoffMs(PAUSE_MS, attempt)));
    try {
      return await call();
    } catch (error) {
      failed = error;
    }
  }
}
