import fc from "fast-check";
import { INDEXES, type Index } from "../../../src/store/keys.ts";
import type { FailKind } from "../../../src/store/task/fail.ts";
import { LONG_AGO, type ModelMove, UNDO_QUEUE } from "./task.ts";

/** Few ids, so that the same one is met again and again; some of them odd. */
export const IDS = ["a", "b", "c", "__proto__", "constructor", "F"] as const;
export const QUEUES = ["jobs", "other", UNDO_QUEUE] as const;
export const WORKERS = ["w1", "w2"] as const;
export const INPUTS = ["1", '{"n":2}', `"${"x".repeat(80)}"`, `"${"y".repeat(300)}"`] as const;
/** Of the tasks of keyed queues; mostly the same one, so that tasks wait for each other. */
export const KEYS = [null, "key", "key", "other"] as const;
/** How many tasks of a key may run at once, of a submission that comes from a process with another setting. */
const LIMITS = [1, 3] as const;
/** Whose share a task of a fair line takes. */
export const SHARES = [
  { key: "a", weight: 1 },
  { key: "a", weight: 1 },
  { key: "b", weight: 3 },
  { key: "c", weight: 0.5 },
] as const;
export const MEDIA_TYPES = ["application/json", "text/plain"] as const;

export type LeaseOp = "renew" | "complete" | "release" | "begin" | "lose" | "progress";

/** One call of one verb, with as many items as travel in it. Items name what they are about by number; ids beyond {@link IDS} are of the last leases. */
export type Op =
  | { op: "submit"; items: readonly SubmitOp[] }
  | { op: "move"; id: number; to: ModelMove }
  | { op: "update"; id: number; input: number; media: number; key: number }
  | {
      op: "reserve";
      queue: number;
      worker: number;
      lane: number;
      count: number;
      again: boolean;
      reports: boolean;
      ahead: boolean;
      /** Leases whose results travel with it. */
      completes: readonly number[];
    }
  /** `apart`: the handler that begins does so in a child process; `unbegun`: that of a task that is handed back has not begun. */
  | { op: LeaseOp; leases: readonly number[]; apart?: boolean; unbegun?: boolean }
  | { op: "fail"; items: readonly { lease: number; kind: FailKind; delayed: boolean }[] }
  | { op: "cancel" | "retry" | "attend"; ids: readonly number[] }
  | { op: "retryAll" | "deleteDead" | "span"; queue: number }
  | { op: "pause"; queue: number; paused: boolean }
  /** Of a queue that has a total. */
  | { op: "total"; queue: number; total: number }
  | { op: "group"; queue: number; verb: "open" | "close" | "cancel"; present: boolean }
  | { op: "step"; lease: number; verb: "begin" | "keep" | "undone"; name: number; undo: boolean }
  | { op: "write"; lease: number; values: number; all: boolean }
  | { op: "tick"; afterGap: boolean }
  | { op: "elapse" | "expire" | "late" | "absent"; ids: readonly number[]; when: number }
  | { op: "entomb"; id: number }
  | { op: "page"; queue: number; index: Index; limit: number };

export interface SubmitOp {
  readonly id: number;
  readonly queue: number;
  readonly input: number;
  readonly media: number;
  readonly caller: boolean;
  readonly priority: number;
  readonly delayed: boolean;
  readonly limit: number;
  readonly maxIndex: number | null;
  readonly dryRun: boolean;
  readonly webhook: boolean;
  readonly dated: boolean;
  readonly present: boolean;
  readonly key: number;
  readonly share: number;
  /** Joins the group of its queue, if its caller has no key. */
  readonly grouped: boolean;
  /** Null for that of the queue. */
  readonly concurrency: number | null;
}

const rarely = <T>(often: T, seldom: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(often) }, { weight: 1, arbitrary: seldom });
const id = fc.nat({ max: IDS.length - 1 });
const queue = fc.nat({ max: QUEUES.length - 1 });
const few = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { minLength: 1, maxLength: 3 });
/** Mostly of the last that were handed out: the older ones are stale. */
const lease = fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 2 }) }, { weight: 1, arbitrary: fc.nat({ max: 12 }) });

/** An id, or beyond them the task of one of the last leases: what runs is met more often. */
const known = fc.nat({ max: IDS.length + 1 });

const submission: fc.Arbitrary<SubmitOp> = fc.record({
  id,
  queue: rarely(0, fc.constant(1)),
  input: fc.nat({ max: INPUTS.length - 1 }),
  media: rarely(0, fc.constant(1)),
  caller: rarely(false, fc.constant(true)),
  priority: rarely(3, fc.constantFrom(0, 7)),
  delayed: rarely(false, fc.constant(true)),
  limit: rarely(1_000_000, fc.constant(2)),
  maxIndex: rarely<number | null>(null, fc.constantFrom(0, 1)),
  dryRun: rarely(false, fc.constant(true)),
  webhook: rarely(false, fc.constant(true)),
  dated: fc.boolean(),
  present: fc.boolean(),
  key: fc.nat({ max: KEYS.length - 1 }),
  share: fc.nat({ max: SHARES.length - 1 }),
  grouped: fc.boolean(),
  concurrency: fc.constantFrom(null, null, ...LIMITS),
});

/** A step: one call, sent twice as often as once because its first reply was lost. */
export const stepArbitrary: fc.Arbitrary<{ twice: boolean; call: Op }> = fc.record({
  twice: fc.boolean(),
  call: fc.oneof(
    { weight: 8, arbitrary: fc.record({ op: fc.constant("submit"), items: few(submission) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        ...{ op: fc.constant("update"), id, input: fc.nat({ max: 3 }), media: rarely(0, fc.nat(1)) },
        key: fc.nat({ max: KEYS.length - 1 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        ...{ op: fc.constant("move"), id },
        to: fc.oneof<fc.Arbitrary<ModelMove>[]>(
          fc.record({ priority: fc.constantFrom(0, 3, 7) }),
          fc.record({ place: fc.constantFrom("first", "last") }),
          fc.record({ delayed: fc.boolean() }),
        ),
      }),
    },
    {
      weight: 7,
      arbitrary: fc.record({
        ...{ op: fc.constant("reserve"), queue: fc.constantFrom(0, 0, 0, 1, 1, 2), worker: fc.nat({ max: 1 }) },
        ...{
          lane: fc.integer({ min: 0, max: 1 }),
          count: fc.integer({ min: 1, max: 3 }),
          again: rarely(false, fc.constant(true)),
          reports: fc.boolean(),
          ahead: fc.boolean(),
          completes: rarely<readonly number[]>([], few(lease)),
        },
      }),
    },
    { weight: 3, arbitrary: fc.record({ op: fc.constant("complete"), leases: few(lease) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        op: fc.constant("fail"),
        items: few(
          fc.record({
            lease,
            kind: fc.constantFrom<FailKind>("retry", "retry", "later", "give-up"),
            delayed: fc.boolean(),
          }),
        ),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        op: fc.constantFrom("renew", "release", "begin", "begin", "lose", "lose", "progress"),
        leases: few(lease),
        apart: fc.boolean(),
        unbegun: fc.boolean(),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ op: fc.constantFrom("cancel", "cancel", "retry", "attend"), ids: few(known) }),
    },
    { weight: 3, arbitrary: fc.record({ op: fc.constantFrom("retryAll", "retryAll", "deleteDead", "span"), queue }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("pause"), queue, paused: rarely(false, fc.constant(true)) }) },
    {
      weight: 1,
      arbitrary: fc.record({ op: fc.constant("total"), queue, total: fc.integer({ min: 1, max: 3 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        ...{ op: fc.constant("group"), queue: fc.nat({ max: 1 }) },
        ...{ verb: fc.constantFrom("open", "open", "open", "close", "cancel"), present: fc.boolean() },
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        ...{ op: fc.constant("step"), lease, verb: fc.constantFrom("begin", "keep", "keep", "undone") },
        ...{ name: fc.nat({ max: 2 }), undo: fc.boolean() },
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        ...{
          op: fc.constant("write"),
          lease,
          values: fc.integer({ min: 1, max: 3 }),
          all: rarely(false, fc.constant(true)),
        },
      }),
    },
    { weight: 5, arbitrary: fc.record({ op: fc.constant("tick"), afterGap: rarely(false, fc.constant(true)) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        ...{ op: fc.constantFrom("elapse", "elapse", "late", "late", "absent", "absent", "expire"), ids: few(known) },
        when: fc.integer({ min: LONG_AGO, max: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("entomb"), id }) },
    {
      weight: 1,
      arbitrary: fc.record({
        ...{ op: fc.constant("page"), queue, index: fc.constantFrom(...INDEXES) },
        limit: fc.integer({ min: 1, max: 3 }),
      }),
    },
  ) as fc.Arbitrary<Op>,
});
