import type { Context } from "koa";
import { ChurnMap } from "../../churn-map.ts";
import type { Inspection } from "../../engine/reading/inspect.ts";
import type { SubmissionVerdict } from "../../engine/submission/submit.ts";
import type { Watchers } from "../../engine/watching/watchers.ts";
import { isOutcome } from "../../task.ts";
import type { Api } from "../api.ts";
import { accessOf, keepsPresent } from "../task/access.ts";
import type { FollowedTask } from "./output-pump.ts";

/**
 * What ends the wait of each caller, by the signal that ends all waits, so that a signal has one listener however many callers
 * wait.
 */
const waiting = new WeakMap<AbortSignal, ChurnMap<() => void, true>>();

/**
 * Calls back when a caller must stop waiting: it has disconnected, or the server stops and the time for answers is over. Not
 * `AbortSignal.any`: the signals of all requests would pile up on one that lives as long as the process.
 */
export function whenGone(ctx: Context, { closing }: Pick<Api, "closing">, leave: () => void): void {
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
export function untilGone(ctx: Context, api: Pick<Api, "closing">): AbortSignal {
  const gone = new AbortController();
  whenGone(ctx, api, () => gone.abort());
  return gone.signal;
}

/**
 * Counts a repeated submission that waits for its task as a long poll. First submissions are not counted: the limits on tasks
 * bound them.
 * @throws ProblemError rate-limited
 */
export function countRepeated(ctx: Context, api: Api, { verdict, state }: SubmissionVerdict): void {
  if (verdict !== "new" && state !== null && !isOutcome(state)) api.streams.add(ctx);
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

/** The condition and time limit of a long poll. */
interface LongPoll {
  readonly task: FollowedTask;
  readonly ms: number;
  /** Whether the caller can be answered; null: the task is unknown, or was deleted. */
  ready(seen: Inspection | null): boolean;
}

/**
 * Waits until the task is ready, the time is up, or the caller must be answered.
 * @throws ProblemError store-unavailable, rate-limited where this caller has too many streams and long polls open
 */
export async function longPoll(
  ctx: Context,
  api: Api,
  watchers: Watchers,
  { task, ms, ready }: LongPoll,
): Promise<void> {
  api.streams.add(ctx);
  let release: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    release = resolve;
  });
  const listener = (seen: Inspection | null) => {
    if (ready(seen)) release();
  };
  const watched = await watchers.watch(task.id, listener, keepsPresent(accessOf(ctx), task));
  const timer = setTimeout(release, ms);
  whenGone(ctx, api, release);
  if (ready(watched.first)) release();
  await over;
  clearTimeout(timer);
  watched.stop();
}
