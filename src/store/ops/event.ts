import { jsonVerb } from "../library/verb.ts";

/** An event to be noted. */
interface Note {
  /** As JSON, without its time; "" for none: only the state begins. */
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

/** The end of a worker's name, and tasks that it has lost. */
interface Losses {
  readonly workerEnd: string;
  readonly ids: readonly string[];
}

/** Events before an id, the newest first; or after one, the oldest first. */
interface EventRange {
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Workers whose heartbeats are overdue, and the states that last, with their values. */
interface Overdue {
  readonly workers: readonly string[];
  readonly states: ReadonlyMap<string, string>;
}

/** A worker that was lost. */
interface LostWorker {
  readonly id: string;
  /** What it said about itself, as JSON; "" if nothing. */
  readonly about: string;
  readonly lostMs: number;
}

/** Notes an event. */
export const note = jsonVerb<Note, null>();

/** Notes that a worker is present, or leaves. With a short patience, so that a partition that is away does not delay the heartbeats of others. */
export const present = jsonVerb<Presence, null>({ patienceMs: 500 });

/** The workers whose heartbeats are overdue, and the states that last. */
export const overdue = jsonVerb<object, Overdue>({
  read: ({ workers, states }: { workers: string[]; states: string[] }) => ({
    workers,
    states: new Map(states.flatMap((name, n) => (n % 2 === 0 ? [[name, states[n + 1] ?? ""] as const] : []))),
  }),
});

/** Notes that the store has become full, or has drained. */
export const full = jsonVerb<Refusals, Fullness>();

/** Fails with store-full unless a submission has room. */
export const room = jsonVerb<object, null>();

/** Notes that a worker is lost, unless another process has, or it is back; with the tasks that it still has. */
export const workerLost = jsonVerb<Losses & { readonly worker: string }, null>();

/** Remembers tasks that a worker has lost, until it is known whether it is lost itself. */
export const losses = jsonVerb<Losses, null>();

/** Reads events. */
export const events = jsonVerb<EventRange, readonly StoredEvent[]>();

/** What is wrong, as the process that looks for it has told it. */
interface KeptIncidents {
  /** As JSON; "" before the first look. */
  readonly list: string;
  /** The time of the store, and when the list was told, ms. */
  readonly nowMs: number;
  readonly toldMs: number;
}

/** Whether this process looks for incidents now, as one does at a time; and what the last look has found. */
export const watchIncidents = jsonVerb<
  { readonly process: string },
  KeptIncidents & { readonly isWatching: boolean }
>();

/** Tells what is wrong, with events of what has begun and ended, as JSON; false if another process looks now. */
export const tellIncidents = jsonVerb<
  { readonly process: string; readonly lookedMs: number; readonly list: string; readonly events: readonly string[] },
  boolean
>();

/** The versions of the handlers, and when the first worker of each started, the newest first. */
export const deploys = jsonVerb<object, readonly { readonly atMs: number; readonly version: string }[]>();

/** Reads what is wrong. */
export const incidents = jsonVerb<object, KeptIncidents>();

/** The workers that were lost in the last hour, the latest first. */
export const lostWorkers = jsonVerb<object, readonly LostWorker[]>();
