import { named, names, verb, verbOnOne } from "./codec.ts";
import { list, number, text } from "./reply.ts";

/** An event to be noted. */
interface Note {
  /** As JSON, without its time. */
  readonly event: string;
  /** `begins`, `ends`: of a state, told once however many processes see it; `lasted`: the store was away; "" for any other event. */
  readonly phase: "begins" | "ends" | "lasted" | "";
  /** The name of the state; "" if there is none. */
  readonly state: string;
  /** What to keep with a state that begins; or for how long the store was away, ms. */
  readonly value: string | number;
  /** By which a resent call is recognized. */
  readonly call: string;
}

/** The presence of a worker. */
interface Presence {
  readonly worker: string;
  /** 0: it leaves. */
  readonly ttlMs: number;
  /** Whether it is a program that leases tasks over HTTP. */
  readonly remote: boolean;
  /** What it says about itself, as JSON. */
  readonly about: string;
  /** That it has started, or stopped, as JSON. */
  readonly event: string;
}

/** What a process tells and asks about a full store. */
interface Refusals {
  readonly process: string;
  /** How many submissions the store has refused it since it is full, if these are more than it has told; else 0. */
  readonly refused: number;
  /** Whether the store has room now. */
  readonly hasRoom: boolean;
}

/** For how long the store has been full, and how many submissions it has refused to all processes; 0 if it is not full. */
interface Fullness {
  readonly lastedMs: number;
  readonly refused: number;
}

/** An event as it is stored. */
export interface StoredEvent {
  /** When it was noted, ms, a hyphen, a number. */
  readonly id: string;
  readonly event: string;
}

const OVERDUE = ["workers", "states"] as const;
const ENTRY = names<StoredEvent>("id", "event");
const FULLNESS = names<Fullness>("lastedMs", "refused");
const WORKER = ["id", "about", "lostMs"] as const;

/** Notes an event. */
export const note = verbOnOne<Note, string>(["event", "phase", "state", "value", "call"]);

/** Notes that a worker is present, or leaves. */
export const present = {
  ...verbOnOne<Presence, string>(["worker", "ttlMs", "remote", "about", "event"]),
  // Short, so that a partition that is away does not delay the heartbeats of queues in others.
  patienceMs: 500,
};

/** The workers whose heartbeats are overdue, and the states that last. */
export const overdue = verb({
  layout: { answer: OVERDUE },
  write: () => [],
  read: (reply) => {
    const { workers, states } = named(OVERDUE, reply);
    const flat = list(states).map(text);
    return {
      workers: list(workers).map(text),
      states: new Map(flat.flatMap((name, n) => (n % 2 === 0 ? [[name, flat[n + 1] ?? ""] as const] : []))),
    };
  },
});

/** Notes that the store has become full, or has drained. */
export const full = verb({
  layout: { args: ["process", "refused", "hasRoom"], answer: FULLNESS },
  write: ({ process, refused, hasRoom }: Refusals) => [process, refused, hasRoom ? 1 : 0],
  read: (reply): Fullness => {
    const { lastedMs, refused } = named(FULLNESS, reply);
    return { lastedMs: number(lastedMs), refused: number(refused) };
  },
});

/** Fails with store-full unless a submission has room. */
export const room = verb({ layout: {}, write: () => [], read: () => undefined });

/** Notes that a worker is lost, unless another process has, or it is back; with the tasks that it still has. */
export const workerLost = verb({
  layout: { args: ["worker", "workerEnd"], item: ["id"] },
  write: (worker: string, workerEnd: string, ids: readonly string[]) => [worker, workerEnd, ids.length, ...ids],
  read: () => undefined,
});

/** Remembers tasks that a worker has lost, until it is known whether it is lost itself. */
export const losses = verb({
  layout: { args: ["workerEnd"], item: ["id"] },
  write: (workerEnd: string, ids: readonly string[]) => [workerEnd, ids.length, ...ids],
  read: () => undefined,
});

/** Events before an id, the newest first; or after one, the oldest first. */
export const events = verb({
  layout: { args: ["before", "after", "limit"], entry: ENTRY },
  write: ({ before = "", after = "", limit }: { before?: string; after?: string; limit: number }) => [
    ...[before, after, limit],
  ],
  read: (reply): StoredEvent[] =>
    list(reply).map((entry) => {
      const { id, event } = named(ENTRY, entry);
      return { id: text(id), event: text(event) };
    }),
});

/** The workers that were lost in the last hour, the latest first. */
export const lostWorkers = verb({
  layout: { worker: WORKER },
  write: () => [],
  read: (reply) =>
    list(reply).map((worker) => {
      const { id, about, lostMs } = named(WORKER, worker);
      return { id: text(id), about: text(about), lostMs: number(lostMs) };
    }),
});
