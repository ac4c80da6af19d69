import { PaihaoError } from "../errors.ts";

/** Pauses between two tries, ms. */
const PAUSE_MS = { first: 100, most: 2000 } as const;
/** So often a store may refuse in a way that time does not heal; then it will not take it. */
const MOST_REFUSALS = 5;

/** How {@link retry} goes on. */
export interface RetryOptions {
  /** Whether it no longer matters. */
  done(): boolean;
  /** Told of each try that failed and is followed by another. */
  onFailure(error: unknown): void;
}

/**
 * Tells the store something until it hears it: it may be away for a while.
 * @throws the last error when it no longer matters, or when the store refuses it for another reason than being away
 */
export function retry<T>(say: () => Promise<T>, options: RetryOptions): Promise<T> {
  return say().catch((error: unknown) => sayAgain(say, options, error));
}

/** The same where the first try has failed already. */
export async function sayAgain<T>(
  say: () => Promise<T>,
  { done, onFailure }: RetryOptions,
  first: unknown,
): Promise<T> {
  let refusals = 0;
  let failed = first;
  for (let pauseMs: number = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.most)) {
    if (!(failed instanceof PaihaoError) || failed.code === "internal") refusals += 1;
    if (done() || refusals === MOST_REFUSALS) throw failed;
    onFailure(failed);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    try {
      return await say();
    } catch (error) {
      failed = error;
    }
  }
}
