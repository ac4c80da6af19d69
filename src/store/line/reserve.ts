import { BATCH_LIMIT, jsonVerb, list, named, names, number, type Reply, text, verb, written } from "../library/verb.ts";
import { type Completion, type CompletionAnswer, completeArguments, completed } from "../task/complete.ts";
import type { Retention } from "../task/record.ts";

/** A worker's request for tasks. */
export interface Reservation {
  readonly queue: string;
  readonly worker: string;
  /** A worker has at most one request for a queue underway in each lane: 0 by default, or 1. */
  readonly lane?: number;
  /** Instead of a lane: who sends a request over HTTP, of which any number are underway, perhaps the same one twice. */
  readonly sender?: string;
  /** Unique to this request; if it is sent again, over HTTP or before another one in its lane, the reply has the same tasks. */
  readonly reservation: string;
  readonly count: number;
  readonly leaseMs: number;
  /** Maximum number of starts in a time span, over all workers; undefined for no limit. */
  readonly rate: { readonly max: number; readonly perMs: number } | undefined;
  /**
   * How long the worker has for reporting that the handler of a task begins that was with a worker that died, ms; if left out, the
   * reservation counts as the beginning.
   */
  readonly suspectLeaseMs?: number;
  /**
   * Whether it asks for more tasks than it has slots for: then nobody knows which of them have begun when the worker dies, so that no loss
   * is counted against any. Default: no.
   */
  readonly ahead?: boolean;
}

/** A task that a worker has taken. */
export interface ReservedTask {
  readonly id: string;
  readonly fence: string;
  readonly attempt: number;
  readonly lost: number;
  readonly createdMs: number;
  /** How long it had been in line when it was taken, ms; 0 unless this is the first time. */
  readonly stoodMs: number;
  /** Whether a webhook or a group may hear of its end. */
  readonly announced: boolean;
  /** Whether its worker is to report that the handler begins. */
  readonly unbegun: boolean;
  /** Null if it is long: it is read separately, see `inputOf` of the engine. */
  readonly input: Buffer | null;
  /** Its length if it is null; 0 if the store does not have it. */
  readonly inputBytes: number;
  readonly mediaType: string;
  readonly query: string;
  readonly caller: string;
  /** The trace context of its submitter: traceparent, then perhaps a space and tracestate; "" if there is none. */
  readonly trace: string;
}

/** The reply of reserve.lua, with the results of the completions sent with it. */
export interface ReserveAnswer extends CompletionAnswer {
  readonly tasks: readonly ReservedTask[];
  /** Null while the queue is paused, or a worker over HTTP is to take no more. */
  readonly waiting: number | null;
  /** How long the rate allows no more starts. */
  readonly pauseMs: number;
}

/** Short: a request is repeated, and gets the same tasks. */
const PATIENCE_MS = 500;

/** A request as it is sent. */
interface SentRequest extends Pick<Reservation, "queue" | "worker" | "reservation" | "count" | "leaseMs"> {
  /** The lane, "0" or "1", or the sender. */
  readonly lane: string;
  /** 0 for any number. */
  readonly max: number;
  readonly perMs: number;
  /** 0 if the worker does not report that handlers begin. */
  readonly suspectLeaseMs: number;
  readonly ahead: boolean;
}

/** A request over HTTP whose tasks are handed back. */
type ReturnedReservation = Pick<Reservation, "queue" | "worker" | "reservation"> &
  Retention & { readonly sender: string };

const REQUEST = names<SentRequest>(
  ...(["queue", "worker", "lane", "reservation", "count", "leaseMs"] as const),
  ...(["max", "perMs", "suspectLeaseMs", "ahead"] as const),
);
const ANSWER = ["tasks", "waiting", "pauseMs", "verdicts"] as const;
/** Members that follow a task that has any of them. */
const RARE = ["mediaType", "query", "caller", "trace"] as const;

/**
 * Reserves tasks, and completes others in the same call.
 * @param process the name of this process in records
 */
export const reserve = verb({
  layout: { args: REQUEST, answer: ANSWER, rare: RARE },
  bytes: true,
  patienceMs: PATIENCE_MS,
  write: (request: Reservation, completions: readonly Completion[] = [], process: string = "") => {
    const { queue, worker, reservation, leaseMs, rate, suspectLeaseMs = 0, ahead = false } = request;
    const lane = request.sender ?? String(request.lane ?? 0);
    const count = Math.min(request.count, BATCH_LIMIT);
    const { max, perMs } = rate ?? { max: 0, perMs: 0 };
    const sent = { queue, worker, lane, reservation, count, leaseMs, max, perMs, suspectLeaseMs, ahead };
    return [...written(REQUEST, sent), ...completeArguments(process, completions)];
  },
  read: (reply): ReserveAnswer => {
    const { tasks, waiting, pauseMs, verdicts } = named(ANSWER, reply);
    return {
      tasks: reservedTasks(list(tasks)),
      waiting: number(waiting) < 0 ? null : number(waiting),
      pauseMs: number(pauseMs),
      ...completed(text(verdicts)),
    };
  },
});

/** Hands back the tasks of a request over HTTP; "shared" if another sender of it may have got them. */
export const unreserve = jsonVerb<ReturnedReservation, "handed-back" | "shared">({ filled: ["keepMs", "tombstoneMs"] });

/** Reads the tasks in the answer of reserve.lua: for each its facts and its input, and four more members if the facts say so. */
function reservedTasks(reply: readonly Reply[]): ReservedTask[] {
  const tasks: ReservedTask[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    const [id = "", fence = "", attempt, lost, created, stood, announced, unbegun, more] = text(reply[at]).split(" ");
    let [mediaType, query, caller, trace] = ["", "", "", ""];
    const input = reply[at + 1];
    if (more !== undefined) {
      [mediaType = "", query = "", caller = "", trace = ""] = reply.slice(at + 2, at + 6).map(text);
      at += 4;
    }
    tasks.push({
      id,
      fence,
      attempt: Number(attempt),
      lost: Number(lost),
      createdMs: Number(created),
      stoodMs: Number(stood),
      announced: announced === "1",
      unbegun: unbegun === "1",
      input: Buffer.isBuffer(input) ? input : null,
      inputBytes: typeof input === "number" ? input : 0,
      mediaType: mediaType || "application/json",
      query,
      caller,
      trace,
    });
  }
  return tasks;
}
