import type { Context } from "koa";
import type { SubmissionVerdict } from "../../engine/tasks/submit.ts";
import type { Common, Watch } from "../../engine/watch/watch.ts";
import { ChurnMap } from "../../store/churn-map.ts";
import { isOutcome } from "../../task.ts";
import type { Streams } from "./streams.ts";

/** What ends the waits of all callers: it fires when the server stops and the time for answers is over. */
interface Closing {
  readonly closing: AbortSignal;
}

/** What a wait depends on: it counts as a stream. */
interface Waits extends Closing {
  readonly streams: Streams;
}

/**
 * What ends the wait of each caller, by the signal that ends all waits, so that a signal has one listener however many callers
 * wait.
 */
const waiting = new WeakMap<AbortSignal, ChurnMap<() => void, true>>();

/**
 * Calls back when a caller must stop waiting: it has disconnected, or the server stops and the time for answers is over. Not
 * `AbortSignal.any`: the signals of all requests would pile up on one that lives as long as the process.
 */
export function whenGone(ctx: Context, { closing }: Closing, leave: () => void): void {
  const { res } = ctx;
  if (closing.aborted || res.destroyed) return leave();
  const callers = callersUntil(closing);
  callers.set(leave, true);
  res.once("close", () => {
    callers.delete(leave);
    if (!res.writableFinished) leave();
  });
}

/** The same as a signal. Where every request waits, the callback above is used, which costs less. */
export function untilGone(ctx: Context, api: Closing): AbortSignal {
  const gone = new AbortController();
  whenGone(ctx, api, () => gone.abort());
  return gone.signal;
}

/**
 * Counts a repeated submission that waits for its task as a long poll. First submissions are not counted: the limits on tasks
 * bound them.
 * @throws ProblemError rate-limited
 */
export function countRepeated(
  ctx: Context,
  { streams }: Pick<Waits, "streams">,
  { verdict, state }: SubmissionVerdict,
): void {
  if (verdict !== "new" && state !== null && !isOutcome(state)) streams.add(ctx);
}

function callersUntil(closing: AbortSignal): ChurnMap<() => void, true> {
  const known = waiting.get(closing);
  if (known) return known;
  const callers = new ChurnMap<() => void, true>();
  closing.addEventListener("abort", () => {
    for (const leave of callers.keys()) leave();
  });
  waiting.set(closing, callers);
  return callers;
}

/** The condition and time limit of a long poll, for a task or a group. */
interface LongPoll<Seen extends Common> {
  /** Begins to watch it. */
  watch(): Promise<Watch<Seen>>;
  readonly ms: number;
  /** Whether the caller can be answered; null: it is unknown, or was deleted. */
  ready(seen: Seen | null): boolean;
}

/**
 * Waits until what is watched is ready, the time is up, or the caller must be answered.
 * @throws ProblemError store-unavailable, rate-limited where this caller has too many streams and long polls open
 */
export async function longPoll<Seen extends Common>(
  ctx: Context,
  api: Waits,
  { watch, ms, ready }: LongPoll<Seen>,
): Promise<void> {
  api.streams.add(ctx);
  const watched = await watch();
  const timer = setTimeout(watched.stop, ms);
  whenGone(ctx, api, watched.stop);
  while (!ready(watched.seen) && (await watched.next()));
  clearTimeout(timer);
  watched.stop();
}
