import { expect } from "chai";
import type { Engine } from "../../src/engine/engine.ts";
import type { QueueSettings } from "../../src/engine/settings.ts";
import type { HandlerEnd } from "../../src/engine/tasks/attempt-end.ts";
import { ProblemError } from "../../src/errors.ts";
import { undoHandler } from "../../src/extras/undo/undo-handler.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";
import { redaction } from "../../src/redact.ts";
import type { ReservedTask } from "../../src/store/line/reserve.ts";
import type { TracedTask } from "../../src/trace/tracing.ts";
import type { Attempt } from "../../src/workers/attempt/attempt.ts";
import { Runner, type WorkerParts } from "../../src/workers/runner.ts";
import { attemptOf, LIMITS } from "../helpers/attempt.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";

const RESULT: HandlerEnd = { kind: "result", result: { status: 200, contentType: null, headers: {}, body: "" } };
const ERROR: HandlerEnd = { kind: "error", error: { message: "no" } };
const away = new ProblemError("store-unavailable");
const plain = defineHandler({ queue: "jobs", run: () => undefined }) as Handler;

/** What a run does with its handler, and what the store answers. */
interface Given {
  readonly task?: Partial<ReservedTask>;
  readonly settings?: Partial<QueueSettings>;
  readonly handler?: Handler;
  readonly execute?: (attempt: Attempt) => HandlerEnd | Promise<HandlerEnd>;
  /** The errors of the first calls that store the end. */
  readonly errors?: Error[];
  readonly inputOf?: (attempt: Attempt) => Promise<Buffer | null>;
  /** What the gate of its queue says to an attempt; undefined without a gate. */
  readonly goesBack?: boolean;
  readonly isTraced?: boolean;
}

describe("the run of a task", () => {
  let time: FakeTime;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(() => time.end());

  /** Runs a task until nothing more happens; returns what happened. */
  const run = async (given: Given = {}) => {
    const { execute = () => RESULT, errors = [] } = given;
    const events: string[] = [];
    const held = new Set<Attempt>();
    const failures: { kind: string; error: string }[] = [];
    const limits: unknown[] = [];
    const store = (name: string) => async (_: unknown, what: unknown, of?: QueueSettings) => {
      events.push(name);
      const error = errors.shift();
      if (error) throw error;
      if (name === "fail") {
        failures.push(what as { kind: string; error: string });
        limits.push([of?.queue, of?.attempts]);
      }
      return "ok";
    };
    const engine = {
      leases: {
        complete: store("complete"),
        fail: store("fail"),
        gateOf: () => (given.goesBack === undefined ? undefined : { ended: async () => given.goesBack }),
      },
      call: (name: string, of: never) => store(name)(of, undefined as never),
      metrics: { attempts: { observe: (_ms: number, _queue: string, how: string) => events.push(`counted ${how}`) } },
      values: {
        inputOf: () => Promise.all([...held].map((attempt) => given.inputOf?.(attempt))).then(([read]) => read),
      },
      steps: { all: async () => new Map([["a", { undo: "due" }]]) },
      redacted: redaction(),
    } as unknown as Engine;
    const warnings: string[] = [];
    const log = createLog("warn", { destination: { write: (line) => warnings.push(line) } });
    const traced: unknown[] = [];
    const trace = {
      run: (work: () => void) => {
        traced.push("run");
        work();
      },
      ended: (...how: unknown[]) => traced.push(how),
      stored: (verdict: string) => traced.push(verdict),
      over: () => traced.push("over"),
    };
    const tracing = {
      attempt: ({ id, queue, maxAttempts }: TracedTask) => {
        traced.push([id, queue, maxAttempts]);
        return trace;
      },
    };
    const executor = {
      execute: (attempt: Attempt) => {
        events.push("executed");
        expect(held.has(attempt), "its lease is renewed").to.equal(true);
        attempt.begin();
        return execute(attempt);
      },
    };
    const { task, settings } = attemptOf({ task: { ...given.task }, settings: { ...given.settings } });
    const runner = new Runner(given.handler ?? plain, settings, {
      engine,
      renewer: { hold: (one: Attempt) => held.add(one), drop: (one: Attempt) => held.delete(one) },
      executors: { of: () => executor },
      ...{ log, tracing: given.isTraced ? tracing : undefined, limits: LIMITS },
    } as unknown as WorkerParts);
    const slot = { ended: () => events.push("ended"), stored: () => events.push("over") };
    runner.run(task, slot, performance.now());
    await time.pass(5000);
    return { events, failures, limits, warnings, traced, held: held.size };
  };
  /** Stops the attempt for this reason before its handler ends. */
  const stopped = (cause: Parameters<Attempt["abort"]>[0], end: HandlerEnd) => (attempt: Attempt) => {
    attempt.abort(cause);
    return end;
  };

  it("frees its slot before its end is stored, and is over after that", async () => {
    const { events, held } = await run({ errors: [away, away] });
    const stored = ["complete", "complete", "complete"];
    expect(events).to.deep.equal(["executed", "counted result", "ended", ...stored, "over"]);
    expect(held).to.equal(0);
    const later = await run({ execute: async () => ERROR });
    expect(later.events).to.deep.equal(["executed", "counted error", "ended", "fail", "over"]);
  });

  it("is over although its end cannot be stored, if the task goes back to the line anyway", async () => {
    for (const cause of ["lease-lost", "shutdown"] as const) {
      const errors = [away, away];
      const execute = async (attempt: Attempt) => {
        setTimeout(() => attempt.abort(cause), 50);
        return RESULT;
      };
      const { events, held } = await run({ errors, execute });
      expect(events.slice(-3), cause).to.deep.equal(["complete", "complete", "over"]);
      expect(held).to.equal(0);
    }
  });

  it("stores nothing if it breaks in an unexpected way: the lease ends", async () => {
    for (const execute of [
      () => {
        throw new Error("odd");
      },
      () => Promise.reject(new Error("odd")),
    ]) {
      const { events, held } = await run({ execute });
      expect([events, held]).to.deep.equal([["executed", "ended", "over"], 0]);
    }
  });

  it("ends as its handler does, with a warning if it fails, unless that was asked to stop", async () => {
    const lost: HandlerEnd = { kind: "lost", how: "killed" };
    const overdue: HandlerEnd = { kind: "overdue" };
    const ends: readonly (readonly [Given["execute"], string | undefined, string, number])[] = [
      [() => RESULT, "complete", "result", 0],
      [() => ERROR, "fail", "error", 1],
      [() => ({ kind: "permanent", message: "no" }), "fail", "permanent", 1],
      [() => ({ kind: "later", afterMs: 10 }), "fail", "later", 0],
      [() => lost, "lose", "lost", 1],
      [stopped("timeout", RESULT), "fail", "timeout", 1],
      [stopped("canceled", RESULT), "complete", "canceled", 0],
      [stopped("canceled", ERROR), "fail", "canceled", 0],
      [stopped("canceled", overdue), "fail", "canceled", 1],
      [stopped("shutdown", RESULT), "complete", "result", 0],
      [stopped("shutdown", ERROR), "release", "shutdown", 0],
      [stopped("lease-lost", RESULT), undefined, "lease-lost", 1],
    ];
    for (const [execute, stored, counted, warned] of ends) {
      const { events, warnings } = await run({ ...(execute && { execute }), settings: { timeoutMs: 60_000 } });
      const expected = ["executed", `counted ${counted}`, "ended", ...(stored ? [stored] : []), "over"];
      expect([events, warnings.length], counted).to.deep.equal([expected, warned]);
    }
  });

  it("says in its warning why it failed", async () => {
    const died: HandlerEnd = { kind: "lost", how: "killed by the system" };
    const refused: HandlerEnd = { kind: "permanent", message: "no such paper" };
    const failed: HandlerEnd = { kind: "error", error: { message: "no paper" } };
    for (const [end, reason] of [
      [died, "killed by the system"],
      [failed, "no paper"],
      [refused, "no such paper"],
    ] as const) {
      expect((await run({ execute: () => end })).warnings.join()).to.include(reason);
    }
    const errors = Array.from({ length: 9 }, () => new Error("out of space"));
    const unstored = await run({ errors });
    expect(unstored.warnings.at(-1)).to.include("out of space");
    expect(unstored.events.at(-1)).to.equal("over");
  });

  it("is traced from its beginning until its end is stored, with the reason if it failed", async () => {
    const task = { id: "task-1" };
    const settings = { attempts: 3 };
    const error: HandlerEnd = { kind: "error", error: { message: "no paper" } };
    for (const [end, thrown] of [
      [RESULT, undefined],
      [error, { message: "no paper" }],
      [{ kind: "lost", how: "killed" }, { message: "killed" }],
      [{ kind: "permanent", message: "bad input" }, { message: "bad input" }],
      [{ kind: "overdue" }, undefined],
    ] as const) {
      const { traced } = await run({ task, settings, isTraced: true, execute: () => end });
      expect(traced, end.kind).to.deep.equal([["task-1", "jobs", 3], "run", [end.kind, thrown], "ok", "over"]);
    }
  });

  it("ends without a warning if it is asked to stop before it has begun", async () => {
    const inputOf = (attempt: Attempt) => {
      attempt.abort("shutdown");
      return new Promise<null>(() => undefined);
    };
    const { events, warnings } = await run({ task: { input: null }, inputOf });
    expect([events, warnings]).to.deep.equal([["ended", "release", "over"], []]);
  });

  it("does not time out once its handler has ended, however long it takes to store that", async () => {
    const attempts: Attempt[] = [];
    const execute = (attempt: Attempt) => {
      attempts.push(attempt);
      return RESULT;
    };
    const errors = Array.from({ length: 4 }, () => away);
    const { events } = await run({ execute, errors, settings: { timeoutMs: 100 } });
    expect([events.at(-1), attempts.map(({ aborted }) => aborted)]).to.deep.equal(["over", [undefined]]);
  });

  it("fails with the error of an undo that failed", async () => {
    const handler = undoHandler(new Map([["jobs", plain]]));
    const task = { id: "task-1:undo:jobs" };
    const { failures } = await run({ handler, settings: { queue: handler.queue }, task, execute: () => ERROR });
    expect(failures.map(({ kind, error }) => [kind, error])).to.deep.equal([["retry", "no"]]);
  });

  it("counts as failed if an undo kills its process; the last one names the steps that stand", async () => {
    const handler = undoHandler(new Map([["jobs", plain]]));
    const settings = { queue: handler.queue, attempts: 3 };
    const execute = (): HandlerEnd => ({ kind: "lost", how: "killed" });
    for (const [attempt, names] of [
      [2, undefined],
      [3, ["a"]],
    ] as const) {
      const task = { id: "task-1:undo:jobs", attempt };
      const { failures, limits } = await run({ handler, settings, execute, task });
      expect(failures).to.have.length(1);
      // There is no attempt after the last one.
      expect(limits).to.deep.equal([[handler.queue, 3]]);
      const [{ result, ...failure } = { result: { body: "{}" }, kind: "", error: "" }] = failures as unknown as {
        readonly kind: string;
        readonly error: string;
        readonly result: { readonly body: string };
      }[];
      expect(failure).to.include({ kind: "retry", error: "killed" });
      expect(JSON.parse(String(result.body)).steps).to.deep.equal(names);
    }
  });
});
