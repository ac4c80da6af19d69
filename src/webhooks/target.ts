import { messageOf, PaihaoError } from "../errors.ts";
import { mayResolveLater } from "../net/name-resolver.ts";
import { type AddressGuard, TargetRefused } from "../net/ssrf-guard.ts";
import { withTimeout } from "../net/with-timeout.ts";

/** What is asked of a webhook's URL when it is handed in. */
export const TARGET_DEFAULTS = {
  length: 2048,
  /** How long its host name may take to resolve: the caller waits for it. */
  resolveMs: 3000,
  /** When a caller whose host name did not resolve may come again. */
  retryAfterS: 5,
} as const;

/**
 * Judges the URL of a webhook ahead of time, and gives it in its canonical form. What passes is judged again whenever an
 * event is delivered.
 * @throws PaihaoError invalid-parameter that names `webhook` and says why it is refused; resolver-unavailable where nobody can
 *   say now whether it is to be
 */
export async function checkTarget(
  given: string,
  guard: AddressGuard,
  resolveMs: number = TARGET_DEFAULTS.resolveMs,
): Promise<string> {
  if (given.length > TARGET_DEFAULTS.length) throw refused(`longer than ${TARGET_DEFAULTS.length} characters`);
  const late = () => unresolved(`within ${resolveMs} ms`);
  try {
    // Of a name that does not resolve nobody can say where it leads.
    const { href } = await withTimeout(resolveMs, guard.check(given), late);
    if (href.length > TARGET_DEFAULTS.length) throw refused(`longer than ${TARGET_DEFAULTS.length} characters`);
    return href;
  } catch (error) {
    if (error instanceof PaihaoError) throw error;
    if (error instanceof TargetRefused) throw refused(error.message);
    const reason = (error as NodeJS.ErrnoException).code ?? messageOf(error);
    throw mayResolveLater(error)
      ? unresolved(`now (${reason})`)
      : refused(`its host name does not resolve (${reason})`);
  }
}

/** Its name servers are silent or have trouble: the same URL may be fine in a moment. */
function unresolved(when: string): PaihaoError {
  return new PaihaoError("resolver-unavailable", `webhook: its host name does not resolve ${when}`, {
    extensions: { parameter: "webhook" },
    retryAfterS: TARGET_DEFAULTS.retryAfterS,
  });
}

function refused(reason: string): PaihaoError {
  return new PaihaoError("invalid-parameter", `webhook: ${reason}`, { extensions: { parameter: "webhook" } });
}
