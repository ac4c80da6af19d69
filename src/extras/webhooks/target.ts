import { messageOf, ProblemError } from "../../errors.ts";
import { withTimeout } from "../../net/deadline.ts";
import { mayResolveLater } from "../../net/name-resolver.ts";
import { type AddressGuard, TargetRefused } from "../../net/ssrf-guard.ts";

/** Limits for the URL of a webhook at submission. */
export const TARGET_DEFAULTS = {
  length: 2048,
  /** How long its host name may take to resolve, while the caller waits. */
  resolveMs: 3000,
  /** Retry-After if the host name did not resolve. */
  retryAfterS: 5,
} as const;

/**
 * Checks the URL of a webhook at submission, and returns its canonical form. It is checked again at every delivery.
 * @throws ProblemError invalid-parameter that names `webhook` and says why it is refused; resolver-unavailable if that cannot be
 *   decided at the moment
 */
export async function checkTarget(
  given: string,
  guard: AddressGuard,
  resolveMs: number = TARGET_DEFAULTS.resolveMs,
): Promise<string> {
  if (given.length > TARGET_DEFAULTS.length) throw refused(`longer than ${TARGET_DEFAULTS.length} characters`);
  const late = () => unresolved(`within ${resolveMs} ms`);
  try {
    // A name that does not resolve cannot be checked.
    const { href } = await withTimeout(resolveMs, guard.check(given), late);
    if (href.length > TARGET_DEFAULTS.length) throw refused(`longer than ${TARGET_DEFAULTS.length} characters`);
    return href;
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    if (error instanceof TargetRefused) throw refused(error.message);
    const reason = (error as NodeJS.ErrnoException).code ?? messageOf(error);
    throw mayResolveLater(error)
      ? unresolved(`now (${reason})`)
      : refused(`its host name does not resolve (${reason})`);
  }
}

/** Its name servers do not answer, or fail: the same URL may work later. */
function unresolved(when: string): ProblemError {
  return new ProblemError("resolver-unavailable", `webhook: its host name does not resolve ${when}`, {
    extensions: { parameter: "webhook" },
    retryAfterS: TARGET_DEFAULTS.retryAfterS,
  });
}

function refused(reason: string): ProblemError {
  return new ProblemError("invalid-parameter", `webhook: ${reason}`, { extensions: { parameter: "webhook" } });
}
