import type { Context } from "koa";
import type { Inspection } from "../../engine/inspect.ts";
import type { Watchers } from "../../engine/watching/watchers.ts";
import type { Api } from "../api.ts";

/**
 * The waiting callers by the signal that ends their wait: each signal has only one listener, however many callers there are.
 */
const waiting = new WeakMap<AbortSignal, Set<AbortController>>();

/**
 * Fires when a waiting caller must be answered: it has disconnected, or the server stops and its time for answers is over. What
 * it waits for goes on. Not `AbortSignal.any`: the signals of all requests would pile up on one that lives as long as the process.
 */
export function untilGone(ctx: Context, { closing }: Pick<Api, "closing">): AbortSignal {
  const gone = new AbortController();
  if (closing.aborted || ctx.res.destroyed) {
    gone.abort();
    return gone.signal;
  }
  let all = waiting.get(closing);
  if (!all) {
    const callers = new Set<AbortController>();
    closing.addEventListener("abort", () => {
      for (const caller of callers) caller.abort();
    });
    waiting.set(closing, callers);
    all = callers;
  }
  const callers = all.add(gone);
  ctx.res.once("close", () => {
    callers.delete(gone);
    gone.abort();
  });
  return gone.signal;
}

/** The condition and time limit of a long poll. */
interface LongPoll {
  readonly id: string;
  readonly ms: number;
  /** Whether the caller can be answered; null: the task is unknown, or no longer known. */
  ready(seen: Inspection | null): boolean;
}

/**
 * Waits until the task is ready, the time is up, or the caller must be answered.
 * @throws PaihaoError store-unavailable, rate-limited where this caller has too many streams and long polls open
 */
export async function longPoll(ctx: Context, api: Api, watchers: Watchers, { id, ms, ready }: LongPoll): Promise<void> {
  api.streams.add(ctx);
  let release: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    release = resolve;
  });
  const watched = await watchers.watch(id, (seen) => {
    if (ready(seen)) release();
  });
  const gone = untilGone(ctx, api);
  gone.addEventListener("abort", release);
  const timer = setTimeout(release, ms);
  if (ready(watched.first) || gone.aborted) release();
  await over;
  clearTimeout(timer);
  watched.stop();
}
