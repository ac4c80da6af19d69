import { expect } from "chai";
import type { Inspection } from "../../../src/engine/watch/inspect.ts";
import { attemptsOf, shown, stepDocument } from "../../../src/http/task/timeline.ts";
import {
  DETAILS_LIMITS,
  type PastAttempt,
  type StepRecord,
  type StoredLog,
  type TaskDetails,
} from "../../../src/store/task/inspect.ts";
import { timestamp } from "../../../src/wire/document.ts";

describe("the attempts in a timeline", () => {
  const BEGAN_MS = 1_000_000;
  const attempt = (number: number, over: Partial<PastAttempt> = {}): PastAttempt => ({
    ...{ number, beganMs: BEGAN_MS, endedMs: BEGAN_MS + 5, outcome: "retrying", worker: "w:1", error: "no luck" },
    ...over,
  });
  /** A task whose latest run is its n-th attempt. */
  const of = (
    seen: Partial<Inspection>,
    { past = [] as PastAttempt[], logs = [] as StoredLog[], n = 1, all = true } = {},
  ) =>
    attemptsOf(
      {
        ...{ state: "running", finishedMs: null, errors: [] },
        ...{ startedMs: n === 0 ? null : BEGAN_MS, attempts: n, worker: "w:2", ...seen },
      } as unknown as Inspection,
      { past, logs } as unknown as TaskDetails,
      all,
    );

  it("have each attempt once: while a task waits for the next, its last run is among the past ones", () => {
    const past = [attempt(1)];
    for (const state of ["retrying", "waiting", "canceled"] as const) {
      expect(of({ state }, { past }).attempts, state).to.have.length(1);
    }
    const [first, second] = of({}, { past: [attempt(1, { beganMs: BEGAN_MS - 100 })], n: 2 }).attempts;
    expect([first?.number, second?.number]).to.deep.equal([1, 2]);
    // A retry of a dead task has another number than the attempt that begins with it.
    expect(of({}, { past: [attempt(0, { outcome: "retried" })] }).attempts).to.have.length(2);
    // An attempt may be handed back without counting, and the next then has the same number.
    expect(of({}, { past: [attempt(1, { beganMs: BEGAN_MS - 1 })] }).attempts).to.have.length(2);
  });

  it("have the stack and the log that each has left, for operators only", () => {
    const past = [attempt(1, { beganMs: BEGAN_MS - 100 })];
    const line = { at: timestamp(BEGAN_MS), level: "info", text: "hello" };
    // An attempt that was handed back may have the number of the next.
    const logs = [
      { number: 2, beganMs: BEGAN_MS, log: JSON.stringify({ log: [line] }) },
      { number: 1, beganMs: BEGAN_MS - 100, log: JSON.stringify({ stack: "Error: no\n    at x", log: [] }) },
      { number: 2, beganMs: BEGAN_MS - 50, log: JSON.stringify({ stack: "another", log: [] }) },
    ];
    const left = (all: boolean) => of({}, { past, logs, n: 2, all }).attempts.map(({ stack, log }) => [stack, log]);
    expect(left(true)).to.deep.equal([
      ["Error: no\n    at x", []],
      [null, [line]],
    ]);
    expect(left(false)).to.deep.equal([
      [null, []],
      [null, []],
    ]);
  });

  it("say that earlier ones may be missing once as many are stored as are kept", () => {
    const past = Array.from({ length: 10 }, (_, n) => attempt(n + 1));
    expect(of({}, { past: past.slice(1) }).omitted).to.equal(false);
    expect(of({}, { past }).omitted).to.equal(true);
  });
});

describe("a step in a timeline", () => {
  const record: StepRecord = { name: "pay", number: 0, state: "done", undoable: true, bytes: 7, value: '{"a":1}' };

  it("has its value, or says that this is too long", () => {
    const { value, ...rest } = record;
    expect(stepDocument(record, null)).to.deep.equal({ ...rest, value: { a: 1 }, undoneAt: null, truncated: false });
    expect(stepDocument({ ...record, bytes: 9999, value: null }, null)).to.include({ value: null, truncated: true });
    const begun: StepRecord = { ...record, state: "begun", bytes: 0, value: null };
    expect(stepDocument(begun, null)).to.include({ value: null, truncated: false });
  });
});

describe("a value in a timeline", () => {
  const of = (type: string, text: string) => shown(type, Buffer.from(text), null);

  it("is JSON or text by its media type, otherwise only its length", () => {
    expect(of("application/json", '{"a":"ü"}')).to.deep.include({ bytes: 10, truncated: false, json: { a: "ü" } });
    for (const type of ["text/csv", "Text/Plain; charset=utf-8", "application/x-ndjson"]) {
      expect(of(type, "1,2")).to.deep.equal({ mediaType: type, bytes: 3, truncated: false, text: "1,2" });
    }
    for (const type of ["image/png", "application/x-text/", "image/text"]) {
      expect(of(type, "1,2")).to.deep.equal({ mediaType: type, bytes: 3, truncated: false });
    }
  });

  it("stays text if it is not the JSON that it is said to be", () => {
    expect(of("application/json", "{oops").json).to.equal("{oops");
  });

  it("is left out if it is long", () => {
    expect(of("text/plain", "x".repeat(DETAILS_LIMITS.bytes)).text).to.have.length(DETAILS_LIMITS.bytes);
    const bytes = DETAILS_LIMITS.bytes + 1;
    const long = { mediaType: "text/plain", bytes, truncated: true };
    expect(of("text/plain", "x".repeat(bytes))).to.deep.equal(long);
    expect(shown("text/plain", null, bytes)).to.deep.equal(long);
  });
});
