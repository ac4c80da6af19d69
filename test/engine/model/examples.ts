import type { Op, SubmitOp } from "./calls.ts";
import type { LineKind } from "./run.ts";
import { LONG_AGO, type ModelMove } from "./task.ts";

/** A sequence of calls that chance plays too seldom. */
interface Example extends LineKind {
  readonly what: string;
  readonly calls: readonly Op[];
}

const PLAIN: SubmitOp = {
  ...{ id: 0, queue: 0, input: 0, media: 0, caller: false, priority: 3, delayed: false, limit: 1_000_000 },
  ...{ maxIndex: null, dryRun: false, webhook: false, dated: false, present: false, key: 0, share: 0 },
  ...{ grouped: false, concurrency: null },
};
/** Tasks of the queue `jobs`, by their numbers, and one of `other`, whose handler has undos. */
const [A, B, C, D, OF_OTHER] = [0, 1, 3, 4, 2];
/** Line keys by their numbers. */
const [KEY, OTHER_KEY] = [1, 3];
/** The queues by their numbers. */
const [JOBS, OTHER] = [0, 1];

const submit = (id: number, given: Partial<SubmitOp> = {}): Op => ({
  op: "submit",
  items: [{ ...PLAIN, ...given, id }],
});
const reserve = (queue: number, given: Partial<Extract<Op, { op: "reserve" }>> = {}): Op => ({
  ...{
    op: "reserve",
    queue,
    worker: 0,
    lane: 0,
    count: 1,
    again: false,
    reports: false,
    ahead: false,
    completes: [],
    ...given,
  },
});
/** What a worker says of the last lease that was handed out. */
const report = (op: "renew" | "lose" | "begin" | "release" | "complete", apart = false): Op => ({
  op,
  leases: [0],
  apart,
});
const handBack: Op = { op: "release", leases: [0], unbegun: true };
const fail = (kind: "retry" | "give-up"): Op => ({ op: "fail", items: [{ lease: 0, kind, delayed: false }] });
const past = (op: "elapse" | "expire" | "late" | "absent", id: number): Op => ({ op, ids: [id], when: LONG_AGO });
const tick: Op = { op: "tick", afterGap: false };
const total = (of: number): Op => ({ op: "total", queue: JOBS, total: of });
const retry = (id: number): Op => ({ op: "retry", ids: [id] });

/** The id of an earlier task is free again. */
const gone = (id: number): Op[] => [past("expire", id), { op: "entomb", id }];
/** A task that has lost a worker loses that of the child process in which its handler has begun, or one in which it has not. */
const dieInChild = [reserve(JOBS, { reports: true }), report("begin", true), past("elapse", A), tick];
const dieUnbegun = [reserve(JOBS, { reports: true }), past("elapse", A), tick];
const suspect = [submit(A), reserve(JOBS), report("lose")];

const write = (values: number, all = false): Op => ({ op: "write", lease: 0, values, all });
const step = (verb: "begin" | "keep" | "undone", name: number, undo = false): Op => ({
  ...{ op: "step", lease: 0, verb, name, undo },
});
const move = (id: number, to: ModelMove): Op => ({ op: "move", id, to });
const update = (id: number, given: { input?: number; key?: number } = {}): Op => ({
  ...{ op: "update", id, input: 1, media: 0, key: 0, ...given },
});
const cancel = (id: number): Op => ({ op: "cancel", ids: [id] });
/** Of three tasks with one lease each. */
const three: readonly Op[] = [
  { op: "submit", items: [A, C, D].map((id) => ({ ...PLAIN, id })) },
  reserve(JOBS, { count: 3 }),
];
const ALL = [0, 1, 2];
/** It dies with a step and a long input. */
const dies = (id: number): Op[] => [
  ...[submit(id, { input: 3 }), reserve(JOBS), report("lose"), reserve(JOBS)],
  ...[step("keep", 0), report("lose")],
];

/** Why a task is to stop, and how it ends that runs. */
const STOPS = {
  "by a cancel": cancel(A),
  "by its deadline": past("late", A),
  "by absence": past("absent", A),
} as const satisfies Record<string, Op>;
const ENDS: Readonly<Record<string, readonly Op[]>> = {
  completed: [report("complete")],
  "completed with the next reservation": [reserve(JOBS, { completes: [0] })],
  failed: [fail("retry")],
  "given up": [fail("give-up")],
  released: [report("release")],
  lost: [report("lose")],
  "not heard of any more": [past("elapse", A)],
};
const attend: Op = { op: "attend", ids: [A] };
const mayStop = { dated: true, present: true };
const anyOther = Object.values(STOPS);

const stops = Object.entries(STOPS).flatMap(([why, stop]): Example[] => [
  ...Object.entries(ENDS).map(([how, end]) => ({
    what: `a task that is to stop ${why} is canceled when it is ${how}, whatever else comes`,
    calls: [
      ...[submit(A, mayStop), reserve(JOBS), stop, tick, attend, ...anyOther, tick],
      ...[report("renew"), report("begin"), ...end, tick],
    ],
  })),
  ...Object.entries({
    waiting: [submit(A, mayStop)],
    scheduled: [submit(A, { ...mayStop, delayed: true })],
    retrying: [
      submit(A, mayStop),
      reserve(JOBS),
      { ...fail("retry"), items: [{ lease: 0, kind: "retry", delayed: true }] },
    ],
  } as Record<string, readonly Op[]>).map(([state, calls]) => ({
    what: `a ${state} task is canceled at once ${why}`,
    calls: [...calls, stop, tick, attend, tick],
  })),
]);

export const EXAMPLES: readonly Example[] = [
  ...stops,
  {
    what: "output is written under the lease only, and says in which start",
    calls: [
      ...[
        submit(A),
        reserve(JOBS),
        write(1),
        report("release"),
        write(1),
        reserve(JOBS),
        write(1),
        fail("retry"),
        tick,
      ],
      ...[write(1), reserve(JOBS), write(1), report("lose"), reserve(JOBS), report("lose"), retry(A), reserve(JOBS)],
      ...[report("complete"), write(1)],
    ],
  },
  {
    what: "output that does not fit is refused from there on, or all of it",
    calls: [submit(A), reserve(JOBS), write(3), write(3, true), write(3), write(1)],
  },
  {
    what: "output goes with a cancel, and stays as long as the result of a failed task",
    calls: [
      ...[submit(A), reserve(JOBS), write(1), cancel(A), report("complete")],
      ...[submit(B), reserve(JOBS), write(1), fail("give-up"), past("expire", B)],
      ...[submit(C), reserve(JOBS), write(1), report("complete"), cancel(C)],
    ],
  },
  {
    what: "a start of a suspect whose handler does not begin is not one of its output",
    calls: [...suspect, ...dieUnbegun, reserve(JOBS), write(1)],
  },
  {
    what: "steps are kept under the lease only, in the order in which they began",
    calls: [
      ...[
        submit(OF_OTHER),
        reserve(OTHER),
        step("begin", 1),
        step("keep", 2),
        step("keep", 1, true),
        step("undone", 1),
      ],
      ...[report("release"), step("begin", 0), step("keep", 0), step("undone", 2)],
    ],
  },
  {
    what: "those who watch hear that a task was moved, replaced, and is run again",
    calls: [
      ...[submit(B), move(B, { priority: 0 }), move(B, { place: "first" }), move(B, { place: "last" }), update(B)],
      ...[move(B, { delayed: true }), move(B, { delayed: false }), tick],
      ...[reserve(JOBS), report("lose"), reserve(JOBS), report("lose"), retry(B)],
    ],
  },
  ...(["lose", "release", "complete"] as const).map((op) => ({
    what: `all are counted that one call ends: ${op}`,
    calls: [...three, { op, leases: ALL }],
  })),
  {
    what: "all are counted that one call ends: fail",
    calls: [...three, { op: "fail", items: ALL.map((lease) => ({ lease, kind: "give-up", delayed: false })) }],
  },
  {
    what: "of too many dead letters the oldest lose their inputs and steps, and are not run again",
    calls: [...[A, B, C, D].flatMap(dies), retry(A), retry(B), reserve(JOBS)],
  },
  {
    what: "a dead task that is retried has neither deadline nor presence",
    calls: [
      ...[submit(A, mayStop), reserve(JOBS), fail("retry"), tick, reserve(JOBS), fail("retry"), attend],
      ...[retry(A), attend, ...anyOther.slice(1), tick],
    ],
  },
  {
    what: "a keyed task that is handed back in its second attempt does not hold its key",
    keyed: true,
    calls: [
      ...[submit(A, { key: KEY }), submit(B, { key: KEY }), reserve(JOBS), fail("retry"), tick],
      ...[reserve(JOBS), report("release"), reserve(JOBS)],
    ],
  },
  {
    what: "a task that arrived earlier starts before the others of the key that it gets",
    keyed: true,
    calls: [
      ...[
        submit(A, { key: OTHER_KEY }),
        submit(B, { key: OTHER_KEY }),
        submit(C, { key: KEY }),
        submit(D, { key: KEY }),
      ],
      ...[reserve(JOBS), reserve(JOBS), report("complete"), update(B, { key: KEY })],
      ...[reserve(JOBS), reserve(JOBS), report("complete"), reserve(JOBS)],
    ] as const,
  },
  {
    what: "a repeated reservation renews the leases of its tasks",
    calls: [submit(A), submit(B), reserve(JOBS), past("elapse", A), reserve(JOBS, { again: true }), tick],
  },
  {
    what: "a reservation gets no task again that was lost and taken by the other lane",
    calls: [
      ...[submit(A), reserve(JOBS), past("elapse", A), tick, reserve(JOBS, { lane: 1 })],
      ...[reserve(JOBS, { again: true }), reserve(JOBS, { again: true, lane: 1 })],
    ],
  },
  {
    what: "a task whose id had another task is undone beside the undo of that one, which a retry takes back",
    calls: [
      ...[submit(OF_OTHER), reserve(OTHER), fail("give-up"), ...gone(OF_OTHER)],
      ...[submit(OF_OTHER), reserve(OTHER), fail("retry"), retry(OF_OTHER), reserve(OTHER)],
      fail("give-up"),
    ],
  },
  {
    what: "the loss of a worker does not count for tasks taken ahead, but for the one that begins after that",
    calls: [
      ...[submit(A), submit(B), reserve(JOBS, { count: 2, ahead: true }), past("elapse", A), past("elapse", B), tick],
      ...[
        reserve(JOBS, { count: 2, reports: true, ahead: true }),
        report("begin"),
        past("elapse", A),
        past("elapse", B),
        tick,
      ],
    ],
  },
  {
    what: "the loss of a worker counts for a task taken ahead whose lease was renewed",
    calls: [submit(A), reserve(JOBS, { ahead: true }), report("renew"), past("elapse", A), tick],
  },
  {
    what: "a task that is handed back before it begins is as if it had not been taken",
    calls: [
      ...[submit(A), reserve(JOBS), handBack, update(A), reserve(JOBS), write(1), handBack, cancel(A)],
      ...[submit(OF_OTHER), reserve(OTHER), handBack, reserve(OTHER), cancel(OF_OTHER), handBack],
    ],
  },
  {
    what: "a suspect loses three workers in a row before its handler begins, then the next loss counts",
    calls: [...suspect, ...dieUnbegun, ...dieUnbegun, ...dieUnbegun, ...dieUnbegun, ...dieInChild],
  },
  {
    what: "a suspect loses three workers of its child process in a row, then the next loss counts",
    calls: [...suspect, ...dieInChild, ...dieInChild, ...dieInChild, ...dieInChild],
  },
  {
    what: "that count begins anew once the handler has begun in a worker",
    calls: [
      ...[...suspect, ...dieUnbegun, ...dieUnbegun, ...dieUnbegun],
      ...[reserve(JOBS, { reports: true }), report("begin"), report("release"), ...dieInChild],
    ],
  },
  {
    what: "the loss of a child process counts if its worker reports it",
    calls: [...suspect, reserve(JOBS, { reports: true }), report("begin", true), report("lose")],
  },
  {
    what: "a worker that ends more tasks of a full queue than it takes leaves the rest to others, who are told",
    total: true,
    calls: [
      ...[A, B, C, D].map((id) => submit(id)),
      ...[reserve(JOBS, { count: 2 }), reserve(JOBS, { completes: [0, 1] })],
    ],
  },
  {
    what: "fewer of a queue run once its total is lower, and more at once when it is higher",
    total: true,
    calls: [
      ...[A, B, C, D].map((id) => submit(id)),
      ...[reserve(JOBS, { count: 3 }), total(1), report("complete"), reserve(JOBS, { count: 3 })],
      ...[report("complete"), reserve(JOBS, { count: 3 }), total(3), reserve(JOBS, { count: 3 }), total(1)],
      ...[report("release"), past("elapse", A), tick, reserve(JOBS)],
    ],
  },
];
