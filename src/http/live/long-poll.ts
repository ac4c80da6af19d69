import type { Context } from "koa";
import type { Inspection } from "../../engine/inspect.ts";
import type { Watchers } from "../../engine/watching/watchers.ts";
import type { Api } from "../api.ts";

/** Who is held, for each signal that says when they are let go: it has one listener, however many they are. */
const held = new WeakMap<AbortSignal, Set<AbortController>>();

/**
 * Fires when a caller who is held must be let go: they have gone away, or the server stops and its time for answers is over.
 * What they wait for goes on. Not `AbortSignal.any`: tied to a signal as old as the process, one of those for each request would pile up.
 */
export function untilGone(ctx: Context, { closing }: Pick<Api, "closing">): AbortSignal {
  const gone = new AbortController();
  if (closing.aborted || ctx.res.destroyed) {
    gone.abort();
    return gone.signal;
  }
  let all = held.get(closing);
  if (!all) {
    const callers = new Set<AbortController>();
    closing.addEventListener("abort", () => {
      for (const caller of callers) caller.abort();
    });
    held.set(closing, callers);
    all = callers;
  }
  const callers = all.add(gone);
  ctx.res.once("close", () => {
    callers.delete(gone);
    gone.abort();
  });
  return gone.signal;
}

/** Whom a caller is held for, and how long. */
export interface Hold {
  readonly id: string;
  readonly ms: number;
  /** Whether the task is as the caller wants it; null is a task that is not known (any more). */
  ready(seen: Inspection | null): boolean;
}

/**
 * Holds a caller until the task is ready, the time is up or the caller is let go.
 * @throws PaihaoError store-unavailable, rate-limited where too many are held for this caller
 */
export async function holdUntil(ctx: Context, api: Api, watchers: Watchers, { id, ms, ready }: Hold): Promise<void> {
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
