import type { State } from "../../task.ts";
import { stateOf } from "../keys.ts";
import type { BytesReply, Reply } from "./script.ts";

/** A queue at one instant, as the scripts tell it. */
export interface Line {
  readonly queue: string;
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly paused: boolean;
  readonly workers: number;
  /** Slots of the live workers together. */
  readonly slots: number;
  /** Exponentially weighted mean of the service time, ms; null before the first sample. */
  readonly meanMs: number | null;
  /** Its variance, ms²; null before the first sample. */
  readonly variance: number | null;
  readonly samples: number;
  /** Mean square errors of the mean as a forecast for the next 16, 64, 256, 1024 tasks, ms²; 0 before the first of each. */
  readonly misses: readonly number[];
  /** For how long some of the running tasks have been running, ms; only told while every slot is busy. */
  readonly agesMs: readonly number[];
}

/** A task as `inspect` finds it. Times are ms, null where they have not come. */
export interface TaskRow {
  readonly queue: string;
  readonly state: State;
  readonly createdMs: number;
  /** How often its input was replaced. */
  readonly revision: number;
  readonly attempts: number;
  readonly startedMs: number | null;
  readonly finishedMs: number | null;
  readonly expiresMs: number | null;
  readonly lost: number;
  readonly cancelRequested: boolean;
  readonly destroyed: boolean;
  readonly errorCode: string | null;
  readonly progress: string | null;
  readonly caller: string;
  readonly index: number | null;
  readonly score: string;
  readonly dueMs: number | null;
  /** Where it was asked for and is short. */
  readonly result: Buffer | null;
  /** The length of a result that was asked for and is not told here since it is long; else 0. */
  readonly resultBytes: number;
  /** The last errors, newest first; of a failed task whose result was asked for. */
  readonly errors: readonly string[];
}
/** A queue's figures for operators. */
export interface QueueRow {
  readonly line: Line;
  readonly dead: number;
  readonly oldestWaitingMs: number | null;
  readonly acceptedLastMinute: number;
  readonly finishedLastMinute: number;
}

/** A bulk string; "" where there is none. */
export const text = (reply: Reply | BytesReply | undefined): string =>
  reply === null || reply === undefined ? "" : reply.toString();
/** A number that is always there. */
export const number = (reply: Reply | BytesReply | undefined): number => Number(text(reply));
/** A number; null where the script says "". */
export const optional = (reply: Reply | BytesReply | undefined): number | null =>
  text(reply) === "" ? null : number(reply);
/** The texts of a JSON array; none where it is none. */
function texts(json: string): string[] {
  if (json === "") return [];
  try {
    const members: unknown = JSON.parse(json);
    return Array.isArray(members) ? members.map(String) : [];
  } catch {
    return [];
  }
}
/** The members of an array. */
export const list = <T extends Reply | BytesReply>(reply: T | undefined): T[] =>
  Array.isArray(reply) ? (reply as T[]) : [];

/** Reads what lib/line.lua answers. */
export function lineOf(reply: Reply | BytesReply | undefined): Line {
  const [queue, waiting, scheduled, running, paused, workers, slots, mean, variance, samples] = list(reply);
  const [foretold, ages] = list(reply).slice(10);
  return {
    queue: text(queue),
    waiting: number(waiting),
    scheduled: number(scheduled),
    running: number(running),
    paused: text(paused) === "1",
    workers: number(workers),
    slots: number(slots),
    meanMs: optional(mean),
    variance: optional(variance),
    samples: number(samples),
    // Of each length of block: what was foretold, a total, and the mean square error.
    misses: text(foretold)
      .split(" ")
      .flatMap((word, i) => (i % 3 === 2 ? Number(word) : [])),
    agesMs: list(ages).map(number),
  };
}

/** Reads one task of what inspect.lua answers. */
export function taskRow(reply: BytesReply): TaskRow | null {
  if (!Array.isArray(reply)) return null;
  const [facts, progress, caller, result, errors] = reply;
  const words = text(facts).split(" ");
  const [queue = "", letter = "", created, attempts, begun, ended, expiry, lost, cancel, destroyed, code] = words;
  const [index, score = "", due, revision] = words.slice(11);
  const state = stateOf(letter);
  if (state === null) return null;
  return {
    queue,
    state,
    // What is no number is 0: it is compared, and NaN is not even itself.
    createdMs: number(created) || 0,
    revision: Number(revision),
    attempts: Number(attempts),
    startedMs: optional(begun),
    finishedMs: optional(ended),
    expiresMs: optional(expiry),
    lost: number(lost),
    cancelRequested: cancel === "1",
    destroyed: destroyed === "1",
    errorCode: code || null,
    progress: text(progress) || null,
    caller: text(caller),
    index: optional(index),
    score,
    dueMs: optional(due),
    result: Buffer.isBuffer(result) && result.length > 0 ? result : null,
    resultBytes: typeof result === "number" ? result : 0,
    errors: texts(text(errors)),
  };
}

/** Reads one queue of what queue.lua answers. */
export function queueRow(reply: Reply): QueueRow {
  const [line, dead, oldest, accepted, finished] = list(reply);
  return {
    line: lineOf(line),
    dead: number(dead),
    oldestWaitingMs: optional(oldest),
    acceptedLastMinute: number(accepted),
    finishedLastMinute: number(finished),
  };
}
