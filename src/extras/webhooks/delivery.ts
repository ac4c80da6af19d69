import { backoffMs, varied } from "../../backoff.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { messageOf } from "../../errors.ts";
import { defineInternalHandler, type Handler } from "../../handler/define.ts";
import { giveUp, RetryAfter, RetryLater } from "../../handler/intents.ts";
import { INTERNAL_QUEUES } from "../../handler/internal-queues.ts";
import type { TaskContext } from "../../handler/task-context.ts";
import { retryAfterMs } from "../../net/retry-after.ts";
import type { AddressGuard } from "../../net/ssrf-guard.ts";
import { outcomeOf, type StoredGroupEnd, type StoredTaskEnd } from "../../store/task/follow.ts";
import { answeredWith, inSpanOf, requestSpan } from "../../trace/tracing.ts";
import type { GroupInspection } from "../groups/group-inspection.ts";
import { eventBody, groupEventBody, isSameEvent } from "./event.ts";
import { Receivers } from "./receivers.ts";
import { post, type ReceiverAnswer } from "./request.ts";
import { messageId, signatureOf } from "./signature.ts";

/** What deliveries need. */
export interface DeliveryParts {
  readonly guard: AddressGuard;
  /** Each is `whsec_` and base64; if there are none, events are not signed. */
  readonly secrets: readonly string[];
  /** Reads a task with its result. */
  look(id: string): Promise<Inspection | null>;
  /** The monitor document of a task. */
  describe(seen: Inspection): object;
  /** Reads a group. */
  lookAtGroup(id: string): Promise<GroupInspection | null>;
  /** The document of a group. */
  describeGroup(seen: GroupInspection): object;
  /** The body of an event in another form than the usual one; undefined for all others. */
  otherBody?(seen: Inspection): string | undefined;
  /** Longest time of an attempt; default 15 s. */
  readonly timeoutMs?: number;
  /** Default: {@link pauseMs}. */
  pauseMs?(attempt: number): number;
}

/** When a failed delivery is retried. */
export const RETRIES = {
  /** Pause before the second attempt; each further one is twice as long. */
  baseMs: 3_000,
  maxMs: 3 * 3_600_000,
  /** A receiver may be unreachable for at least this long before the event is dead. */
  spanMs: 24 * 3_600_000,
  /** The longest Retry-After that is honoured. */
  longestRetryAfterMs: 6 * 3_600_000,
} as const;

/**
 * Milliseconds between a failed attempt (from 1) and the next, varied so that deliveries that failed together do not come back
 * together.
 * @param chance in [0, 1)
 */
export function pauseMs(attempt: number, chance: number): number {
  return Math.round(varied(backoffMs(RETRIES, attempt), chance));
}

/** The fewest attempts whose pauses cover the whole span even if each is as short as possible. */
function attemptsOver(spanMs: number): number {
  let attempts = 1;
  for (let waitedMs = 0; waitedMs < spanMs; attempts += 1) waitedMs += pauseMs(attempts, 0);
  return attempts;
}

/** Attempts before an event is dead. */
export const ATTEMPTS = attemptsOver(RETRIES.spanMs);

/** The end of a task or of a group. */
type StoredEnd = StoredTaskEnd | StoredGroupEnd;

/** The name of the step that stores the body of an event. */
const KEPT = "event";
/** An event is stored if its task or result expires sooner than this after the next attempt is due, ms. */
const KEEP_AHEAD_MS = 60_000;

/** The slots in each worker process: many, since a delivery mostly waits for the receiver. */
const CONCURRENCY = 32;

/**
 * The handler of the queue that delivers webhooks. An event is delivered at least once: it is retried for a day, and then
 * becomes a dead letter.
 */
export function deliverer(parts: DeliveryParts): Handler<StoredEnd> {
  const receivers = new Receivers(CONCURRENCY);
  return defineInternalHandler<StoredEnd>({
    queue: INTERNAL_QUEUES.webhooks,
    concurrency: CONCURRENCY,
    attempts: ATTEMPTS,
    // Only for our own errors; after an error of the receiver, {@link pauseMs} decides.
    backoff: { base: RETRIES.baseMs, max: RETRIES.maxMs },
    // The task only records that the event was delivered.
    resultTtl: "1m",
    tombstoneTtl: 1,
    run: async (end, task) => {
      const event = await ("group" in end ? groupEventOf(parts, end, task) : eventOf(parts, end, task));
      const begun = receivers.enter(end.url, performance.now());
      if (typeof begun === "number") {
        await keep(event, begun, task);
        throw new RetryLater(begun);
      }
      try {
        await deliver(parts, { url: end.url, body: event.body }, task);
      } catch (error) {
        if (error instanceof RetryAfter) await keep(event, error.afterMs, task);
        throw error;
      } finally {
        begun(performance.now());
      }
    },
  });
}

/** An event for a receiver. */
interface Event {
  readonly body: string;
  /** How long the event can still be rebuilt, ms; undefined if it is stored. */
  readonly lastsMs: number | undefined;
}

/** Built for each attempt while its task exists: a stored event would take memory for as long as the receiver is unreachable. */
async function eventOf(parts: DeliveryParts, end: StoredTaskEnd, task: TaskContext): Promise<Event> {
  const seen = await parts.look(end.id);
  const state = outcomeOf(end);
  const endedMs = task.submittedAt.getTime();
  // A dead task may have been run again since, and a later task may have its id.
  const isSame = seen !== null && isSameEvent({ id: end.id, state }, endedMs, seen);
  const other = isSame ? parts.otherBody?.(seen) : undefined;
  const body = other ?? eventBody({ id: end.id, state }, endedMs, isSame ? seen : null, parts.describe);
  if (isSame && !seen.expired) {
    return { body, lastsMs: (seen.expiresMs ?? Number.POSITIVE_INFINITY) - seen.nowMs };
  }
  return { body: await task.step(KEPT, () => body), lastsMs: undefined };
}

/** The same for the end of a group. */
async function groupEventOf(parts: DeliveryParts, end: StoredGroupEnd, task: TaskContext): Promise<Event> {
  const seen = await parts.lookAtGroup(end.group);
  const endedMs = task.submittedAt.getTime();
  const isSame = seen?.state === end.state && seen.finishedMs === endedMs && !seen.expired;
  const body = groupEventBody(end, endedMs, isSame ? seen : null, parts.describeGroup);
  if (isSame) return { body, lastsMs: (seen.expiresMs ?? Number.POSITIVE_INFINITY) - seen.nowMs };
  return { body: await task.step(KEPT, () => body), lastsMs: undefined };
}

/** Stores an event that could not be built again after a pause. */
async function keep({ body, lastsMs }: Event, pauseMs: number, task: TaskContext): Promise<void> {
  if (lastsMs !== undefined && lastsMs < pauseMs + KEEP_AHEAD_MS) await task.step(KEPT, () => body);
}

async function deliver(
  parts: DeliveryParts,
  { url, body }: { url: string; body: string },
  task: TaskContext,
): Promise<void> {
  const id = messageId(task.id);
  const answer = await attempt(parts, { id, body, url }, task);
  const { status } = answer;
  task.log.debug({ webhookId: id, status }, "the receiver has answered");
  if (status >= 200 && status <= 299) return;
  if (status === 410)
    throw giveUp({ status: 410, title: "The receiver answered 410: it does not want further attempts for this event" });
  const note = status >= 300 && status <= 399 ? ": redirects are not followed" : "";
  const askedMs = retryAfterMs(answer.retryAfter, { nowMs: Date.now(), maxMs: RETRIES.longestRetryAfterMs }) ?? 0;
  throw new RetryAfter(Math.max(askedMs, pauseAfter(parts, task)), `the receiver answered ${status}${note}`);
}

/** @throws RetryAfter if there is no answer */
async function attempt(
  parts: DeliveryParts,
  { id, body, url }: { id: string; body: string; url: string },
  task: TaskContext,
): Promise<ReceiverAnswer> {
  const timestampS = Math.floor(Date.now() / 1000);
  const signature = signatureOf(parts.secrets, { id, timestampS, body });
  try {
    const spec = requestSpan("POST", new URL(url), { "paihao.webhook.id": id });
    return await inSpanOf(task, spec, async (traceHeaders, note) => {
      const answer = await post({
        url,
        body,
        headers: {
          "content-type": "application/json",
          "user-agent": "Paihao-Webhooks/1.0",
          "webhook-id": id,
          "webhook-timestamp": String(timestampS),
          ...(signature === "" ? {} : { "webhook-signature": signature }),
          ...traceHeaders,
        },
        guard: parts.guard,
        signal: task.signal,
        ...(parts.timeoutMs !== undefined && { timeoutMs: parts.timeoutMs }),
      });
      note(answeredWith(answer.status));
      return answer;
    });
  } catch (error) {
    throw new RetryAfter(pauseAfter(parts, task), messageOf(error), { cause: error });
  }
}

function pauseAfter(parts: DeliveryParts, task: TaskContext): number {
  return parts.pauseMs?.(task.attempt) ?? pauseMs(task.attempt, Math.random());
}
