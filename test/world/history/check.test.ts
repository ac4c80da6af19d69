import { expect } from "chai";
import { heard } from "./answer.ts";
import { check } from "./check.ts";
import { type Call, entriesOf, type HistoryEntry, handBackIn, historyOf, type Mark } from "./history.ts";

const WORK = "work";
/** A process that runs nothing else. */
const OTHER = { pid: 3 };

function call(kind: Call["kind"], id: string, at: number, more: Partial<Call> = {}): Call {
  const times = { invokedAt: at, returnedAt: at + 5 };
  return { type: "call", kind, id, queue: WORK, ...times, outcome: "ok", answer: "", ...more };
}

function run(id: string, at: number, fence: number, more: Partial<Mark> = {}): Mark[] {
  const mark = { id, queue: WORK, fence, pid: 1, ...more };
  return [
    { type: "begins", ...mark, at },
    { type: "ends", ...mark, at: at + 20 },
  ];
}

/** A task in a line of its own: submitted at the given time, told its place, run and collected. */
function task(
  id: string,
  at: number,
  { index, fence, ...of }: { index: number; fence: number; key?: string },
): HistoryEntry[] {
  return [
    call("submit", id, at, { ...of, told: "pending", index }),
    call("status", id, at + 10, { ...of, told: "pending", index }),
    ...run(id, fence, fence, of),
    call("timeline", id, 1000, { ...of, told: "succeeded", starts: 1 }),
    call("collect", id, 1010, { ...of, told: "succeeded", fence }),
  ];
}

/** Four tasks in a line by arrival, one of which was run again after its worker was lost; two of one key; one refused, one unclear. */
function goodHistory(): HistoryEntry[] {
  const keyed = { queue: "keyed", key: "k" };
  return [
    ...task("a", 0, { index: 0, fence: 100 }),
    ...task("b", 20, { index: 1, fence: 101 }),
    ...task("c", 40, { index: 2, fence: 102 }),
    call("submit", "again", 60, { told: "pending", index: 3 }),
    { type: "begins", id: "again", queue: WORK, fence: 103, pid: 2, at: 103 },
    ...run("again", 300, 300),
    call("timeline", "again", 1000, { told: "succeeded", starts: 2 }),
    call("collect", "again", 1010, { told: "succeeded", fence: 300 }),
    ...task("k1", 0, { index: 0, fence: 110, ...keyed }),
    ...task("k2", 20, { index: 1, fence: 140, ...keyed }),
    call("submit", "refused", 70, { outcome: "failed", answer: "503 queue-full" }),
    call("submit", "unclear", 80, { outcome: "unknown", answer: "no answer" }),
    ...run("unclear", 200, 200),
    call("timeline", "unclear", 1000, { told: "succeeded", starts: 1 }),
  ];
}

const violated = (entries: readonly HistoryEntry[]) => [...new Set(check(historyOf(entries)).map(({ rule }) => rule))];
const isOf = (id: string, type: HistoryEntry["type"]) => (entry: HistoryEntry) =>
  entry.type === type && "id" in entry && entry.id === id;
const without = (drop: (entry: HistoryEntry) => boolean) => goodHistory().filter((entry) => !drop(entry));
const withMore = (...more: HistoryEntry[]) => [...goodHistory(), ...more];
function changed(which: (entry: HistoryEntry) => boolean, change: object): HistoryEntry[] {
  return goodHistory().map((entry) => (which(entry) ? ({ ...entry, ...change } as HistoryEntry) : entry));
}
const lastCall = (id: string, kind: Call["kind"]) => (entry: HistoryEntry) =>
  entry.type === "call" && entry.id === id && entry.kind === kind;
const isFirst = lastCall("c", "submit");
/** The runs of two tasks of a key, exchanged. */
const K1_BEFORE_K2_MS = 30;
function swappedRuns(entry: HistoryEntry): HistoryEntry {
  if (entry.type !== "begins" && entry.type !== "ends") return entry;
  const by = entry.id === "k1" ? K1_BEFORE_K2_MS : -K1_BEFORE_K2_MS;
  return { ...entry, at: entry.at + by };
}
/** Exchanges the starts of two tasks. */
function exchanged(one: string, other: string): HistoryEntry[] {
  const fences = new Map(
    [one, other].flatMap((id) =>
      goodHistory().flatMap((e) => (e.type === "begins" && e.id === id ? [[id, e.fence]] : [])),
    ),
  );
  const fenceOf = new Map([
    [one, fences.get(other)],
    [other, fences.get(one)],
  ]);
  return goodHistory().map((entry) =>
    "fence" in entry && fenceOf.has(entry.id) ? ({ ...entry, fence: fenceOf.get(entry.id) } as HistoryEntry) : entry,
  );
}
/** Invoked so early that it overlaps with the first call of others. */
const earlier = (call: Call): Call => (call.kind === "submit" ? { ...call, invokedAt: 20 } : call);

describe("the check of a history", () => {
  it("finds nothing in one that keeps all promises, also when it was written to a file", () => {
    expect(check(historyOf(goodHistory()))).to.deep.equal([]);
    const file = goodHistory().map((entry) => `${JSON.stringify(entry)}\n`);
    expect(entriesOf(file.join(""))).to.deep.equal(goodHistory());
  });

  const MUTATIONS: readonly (readonly [string, string, HistoryEntry[]])[] = [
    ["a task that failed, too", "one outcome", withMore(call("status", "a", 1100, { told: "failed" }))],
    [
      "a second result",
      "one outcome",
      withMore(...run("b", 90, 90), call("collect", "b", 1100, { told: "succeeded", fence: 90 })),
    ],
    ["a result that nothing made", "results were made", changed(lastCall("a", "collect"), { fence: 99 })],
    ["a result of a run that was cut off", "results were made", without(isOf("a", "ends"))],
    ["a result that was told before its run ended", "results were made", changed(isOf("a", "ends"), { at: 2000 })],
    ["a fence of two tasks", "fences rise", withMore(...run("d", 101, 101), call("submit", "d", 60))],
    ["a fence that falls", "fences rise", withMore(...run("a", 400, 90))],
    ["a start after the outcome", "fences rise", withMore(...run("a", 900, 900, OTHER))],
    [
      "an accepted task that never ends",
      "nothing lost",
      without((entry) => isOf("c", "call")(entry) && !isFirst(entry)),
    ],
    [
      "a task that is unknown after its result",
      "answers stand",
      withMore(call("collect", "a", 1100, { told: "unknown", answer: "404 unknown" })),
    ],
    [
      "a task that is pending after its result",
      "answers stand",
      withMore(call("status", "a", 1100, { told: "pending" })),
    ],
    [
      "a task that is unknown after its acceptance",
      "answers stand",
      withMore(call("status", "b", 60, { told: "unknown" })),
    ],
    ["a refused task that runs", "only what was submitted", withMore(...run("refused", 500, 500))],
    ["a task that nobody submitted", "only what was submitted", withMore(...run("ghost", 500, 500))],
    [
      "a run before its submission",
      "only what was submitted",
      changed((entry) => isOf("unclear", "begins")(entry), { at: 70 }),
    ],
    ["two tasks of a key at once", "keys in order", changed(isOf("k2", "begins"), { at: 120 })],
    [
      "a key out of order",
      "keys in order",
      goodHistory().map((entry) => (entry.type !== "fork" && /^k\d$/.test(entry.id) ? swappedRuns(entry) : entry)),
    ],
    ["a start before a task submitted earlier", "starts in order", exchanged("a", "b")],
    [
      "a start before a task with a smaller place",
      "starts in order",
      // Submitted at the same time, so that only their places say who comes first.
      exchanged("b", "c").map((entry) => (isOf("c", "call")(entry) ? earlier(entry as Call) : entry)),
    ],
  ];
  for (const [what, rule, entries] of MUTATIONS) {
    it(`finds ${what}, by the rule "${rule}"`, () => {
      expect(violated(entries)).to.include(rule);
    });
  }

  it("does not judge a task that a worker gave back before its handler had begun, and which others may have passed", () => {
    const entries = exchanged("a", "b");
    const line = JSON.stringify({ requestId: "a", queue: "q", outcome: "unbegun", msg: "pool: handing a task back" });
    expect(violated([...entries, ...[handBackIn(line) ?? []].flat()])).to.deep.equal([]);
    expect(handBackIn(line.replace("unbegun", "result"))).to.equal(undefined);
  });

  it("does not take places for a promise when a task that returned may have moved others", () => {
    const entries = exchanged("b", "c").map((entry) => (isOf("c", "call")(entry) ? earlier(entry as Call) : entry));
    const returned = entries.map((entry) => (lastCall("again", "timeline")(entry) ? { ...entry, starts: 3 } : entry));
    expect(violated(returned as HistoryEntry[])).to.deep.equal([]);
  });

  it("does not take the index 0 of a task that runs for a place", () => {
    // Stored by its first call, which was answered to nobody, and taken before the other was stored.
    const first = [
      call("submit", "first", 500, { outcome: "unknown", answer: "503 store-unavailable" }),
      call("submit", "first", 540, { told: "pending", index: 0 }),
      call("collect", "first", 560, { told: "pending", index: 0 }),
      ...run("first", 570, 570),
      call("timeline", "first", 1000, { told: "succeeded", starts: 1 }),
    ];
    expect(violated([...first, ...task("second", 530, { index: 0, fence: 571 })])).to.deep.equal([]);
  });

  it("lets a worker that stood still begin late, if its run makes no result", () => {
    expect(violated(withMore(...run("again", 500, 250, OTHER)))).to.deep.equal([]);
  });
});

describe("the check of a history in which the store went on with an older state", () => {
  const lost = (kept: "nothing" | "submissions") =>
    withMore({ type: "fork", at: 1050, kept }, call("status", "a", 1100, { told: "unknown" }));

  it("forgives that a submission was lost which only the old master had", () => {
    expect(violated(lost("nothing"))).to.deep.equal([]);
  });

  it("finds a submission lost which a replica had", () => {
    expect(violated(lost("submissions"))).to.deep.equal(["nothing lost", "answers stand"]);
  });

  it("forgives a second outcome, and holds all promises of what comes after it", () => {
    const again = (id: string, at: number) => call("collect", id, at, { told: "succeeded", fence: 103 + at });
    const fork: HistoryEntry = { type: "fork", at: 1050, kept: "submissions" };
    const rest = ["b", "c", "k1", "k2", "again"].map((id) => call("status", id, 1100, { told: "succeeded" }));
    const entries = withMore(fork, ...rest, ...run("a", 1060, 1203), again("a", 1100));
    expect(violated(entries)).to.deep.equal([]);
    expect(violated([...entries, call("status", "a", 1200, { told: "pending" })])).to.deep.equal(["answers stand"]);
  });
});

describe("what an answer means for a task", () => {
  const problem = (code: string) => JSON.stringify({ type: `/problems/${code}`, index: null });

  it("is nothing certain without an answer, or with one after which the task may be stored", () => {
    expect(heard("submit", 0, undefined).outcome).to.equal("unknown");
    expect(heard("submit", 503, problem("store-unavailable")).outcome).to.equal("unknown");
    expect(heard("submit", 503, problem("not-durable")).outcome).to.equal("unknown");
  });

  it("is a refusal if nothing was stored", () => {
    expect(heard("submit", 503, problem("queue-full")).outcome).to.equal("failed");
    expect(heard("submit", 400, problem("invalid-input")).outcome).to.equal("failed");
  });

  it("is its place, its outcome, or who made its result", () => {
    expect(heard("submit", 202, '{"index":4}')).to.include({ told: "pending", index: 4 });
    expect(heard("collect", 200, '{"fence":7}')).to.include({ told: "succeeded", fence: 7 });
    expect(heard("collect", 500, problem("worker-lost"))).to.include({ outcome: "ok", told: "failed" });
    expect(heard("collect", 404, problem("unknown"))).to.include({ outcome: "ok", told: "unknown" });
    const timeline = '{"task":{"state":"succeeded"},"attempts":[{"number":1},{"number":1}]}';
    expect(heard("timeline", 200, timeline)).to.include({ told: "succeeded", starts: 2 });
  });
});
