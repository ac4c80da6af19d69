import { expect } from "chai";
import { Homes } from "../../../src/engine/calls/homes.ts";
import { LargeValues } from "../../../src/engine/calls/large-values.ts";
import { estimate } from "../../../src/engine/estimates/estimate.ts";
import { Inspector, isKeptByLooks, keptUntil, longestPauseS } from "../../../src/engine/watch/inspect.ts";
import { ProblemError } from "../../../src/errors.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { Scripts } from "../../../src/store/library/scripts.ts";
import type { QueueSnapshot } from "../../../src/store/line/snapshot.ts";
import { ANSWER_MEMBERS, decodeTask, type TaskRecord } from "../../../src/store/task/record.ts";
import { serviceTimes } from "../../shared/service-times.ts";

const NOW = 1_000_000;
const SNAPSHOT: QueueSnapshot = {
  ...{ queue: "jobs", waiting: 9, scheduled: 0, running: 3, paused: false, resting: false, workers: 1, slots: 3 },
  ...serviceTimes(1000, 1, 99),
  agesMs: [0, 0, 0],
};
/** A task of which the store answers this. */
const rowOf = (answer: Readonly<Record<string, string>>): TaskRecord =>
  decodeTask(
    Object.entries(answer).flatMap(([name, value]) => [ANSWER_MEMBERS.indexOf(name) + 1, Buffer.from(value)]),
  ) ?? expect.fail("no task");
const WAITING = { queue: "jobs", state: "w", created: "1", index: "4" };
const ROW = rowOf(WAITING);
const ended = (given: Partial<TaskRecord> = {}): TaskRecord => ({
  ...{ ...ROW, state: "succeeded", index: null, finishedMs: NOW - 10, expiresMs: NOW + 10 },
  ...given,
});

/** A store in which each look finds the next of these rows; the last one stays. */
function inspectorOf(given: {
  rows: readonly (TaskRecord | null)[];
  value?: Buffer | null;
  home?: number;
  attend?: unknown;
}) {
  const { value = null, home, attend } = given;
  const rows = [...given.rows];
  const keys = new Keys("inspect:", home === undefined ? 1 : 3);
  const calls: string[] = [];
  const noted = async <T>(call: string, answer: T): Promise<T> => {
    calls.push(call);
    return answer;
  };
  const look = (verb: string, tag: string, ids: readonly string[]) => {
    const partition = keys.tags.indexOf(tag);
    const isHere = home === undefined || partition === home;
    const row = isHere ? (rows.length > 1 ? rows.shift() : rows[0]) : null;
    const tasks = ids.map(() => row ?? null);
    return noted(`${verb} ${partition}`, { nowMs: NOW, snapshots: [SNAPSHOT], tasks });
  };
  const scripts: Partial<Scripts> = {
    inspect: (tag, items) =>
      look(
        "inspect",
        tag,
        items.map(({ id }) => id),
      ),
    watch: (tag, process, items) =>
      look(
        `watch as ${process} in`,
        tag,
        items.map(({ id }) => id),
      ),
    home: (tag, ids) =>
      noted(
        `home ${keys.tags.indexOf(tag)}`,
        ids.map(() => home ?? null),
      ),
    value: (_, key) => noted("value", key === keys.value("result", home ?? 0, "a") ? value : null),
    piece: (_, __, { from, bytes }) => noted(`piece ${from} ${bytes}`, value?.subarray(from, from + bytes) ?? null),
  };
  const all = scripts as Scripts;
  const homes = new Homes(all, keys);
  const call = (async () => {
    calls.push("attend");
    if (attend instanceof Error) throw attend;
    return attend;
  }) as unknown as ConstructorParameters<typeof Inspector>[4];
  return { inspector: new Inspector(all, keys, homes, new LargeValues(all, keys), call, "me"), calls, keys };
}

describe("a look at a task", () => {
  const at = async (row: TaskRecord) =>
    (await inspectorOf({ rows: [row] }).inspector.inspect("a", { result: false })) ?? expect.fail("unknown");

  it("shows its place, and all the work in front of it, only while it waits", async () => {
    expect(await at(ROW))
      .to.include({ index: 4, ahead: 7 })
      .and.to.have.nested.property("eta.basis", "history");
    expect(await at({ ...ROW, state: "running", index: 0 })).to.include({ index: 0, ahead: 0 });
    expect(await at({ ...ROW, state: "scheduled", index: null })).to.include({ index: null, ahead: null });
    expect((await at(ROW)).eta).to.deep.equal(estimate(SNAPSHOT, { state: "waiting", index: 4 }, NOW));
    expect(await at(ended())).to.include({ index: null, ahead: null, eta: null });
  });

  it("shows as expired what has ended and was kept until now, but not what was deleted", async () => {
    expect((await at(ended({ expiresMs: NOW }))).expired).to.equal(true);
    expect((await at(ended({ expiresMs: NOW + 1 }))).expired).to.equal(false);
    expect((await at(ended({ expiresMs: null }))).expired).to.equal(false);
    expect((await at(ended({ expiresMs: NOW, deleted: true }))).expired).to.equal(false);
    expect((await at({ ...ROW, expiresMs: NOW })).expired).to.equal(false);
  });

  it("shows its progress with its message, its caller, and until when it is kept while it has not ended", async () => {
    const progress = async (text: string) => (await at(rowOf({ ...WAITING, progress: text }))).progress;
    const pace = { percent: 40, totalMs: 9000 };
    expect(await progress("40 9000 half of the pages")).to.deep.equal({ ...pace, message: "half of the pages" });
    expect(await progress("40 9000 ")).to.deep.equal({ ...pace, message: null });
    expect((await at(ROW)).progress).to.equal(null);
    expect([(await at(ROW)).caller, (await at(rowOf({ ...WAITING, caller: "ann" }))).caller]).to.deep.equal([
      null,
      "ann",
    ]);
    expect((await at({ ...ROW, presentUntilMs: NOW + 5 })).presentUntilMs).to.equal(NOW + 5);
    expect((await at(ended({ presentUntilMs: NOW + 5 }))).presentUntilMs).to.equal(null);
  });

  it("is repeated in the partition of the task if that is another than expected", async () => {
    const { inspector, calls, keys } = inspectorOf({ rows: [ROW], home: 2 });
    const [id = ""] = ["a", "b", "c", "d", "e"].filter((some) => keys.partitionOf(some) === 1);
    expect(await inspector.inspect(id, { result: false })).to.include({ id, index: 4 });
    expect(calls.splice(0)).to.deep.equal(["inspect 1", "home 1", "inspect 2"]);
    // The next one knows.
    await inspector.inspect(id, { result: false });
    expect(calls.splice(0)).to.deep.equal(["inspect 2"]);
  });

  it("makes this process hear of each change if that is wanted", async () => {
    const { inspector, calls } = inspectorOf({ rows: [ROW] });
    await inspector.inspect("a", { result: false, listen: true });
    expect(calls).to.deep.equal(["watch as me in 0"]);
  });
});

describe("a look at a task that is canceled unless somebody looks at it", () => {
  const due = { ...ROW, presenceMs: 9000, presentUntilMs: NOW + 10 };
  const look = async (
    rows: readonly TaskRecord[],
    { attend = "kept", attends = () => true }: { attend?: unknown; attends?: () => boolean } = {},
  ) => {
    const { inspector, calls } = inspectorOf({ rows, attend });
    const seen = await inspector.inspect("a", { result: false, attends });
    return [seen?.state, seen?.presentUntilMs, ...calls.filter((call) => call === "attend")];
  };

  it("is stored if it counts, and keeps the task", async () => {
    expect(await look([due])).to.deep.equal(["waiting", NOW + 9000, "attend"]);
    expect(await look([due], { attends: () => false })).to.deep.equal(["waiting", NOW + 10]);
    expect(await look([{ ...due, presenceMs: null }])).to.deep.equal(["waiting", NOW + 10]);
  });

  it("is repeated if the task has ended in the meantime, three times at most", async () => {
    expect(await look([due, ended()], { attend: "gone" })).to.deep.equal(["succeeded", null, "attend"]);
    expect(await look([due], { attend: "gone" })).to.deep.equal(["waiting", NOW + 10, "attend", "attend", "attend"]);
  });

  it("shows the task all the same if it cannot be stored: the next one stores it", async () => {
    const attend = new ProblemError("store-unavailable");
    expect(await look([due], { attend })).to.deep.equal(["waiting", NOW + 10, "attend"]);
  });
});

const SPAN_MS = 9000;

describe("a look at a task with a presence", () => {
  const task = (over: Partial<Parameters<typeof isKeptByLooks>[0]> = {}) => ({
    ...({ state: "waiting", cancelRequested: false, presenceMs: SPAN_MS, deadlineMs: null, group: null } as const),
    presentUntilMs: NOW + SPAN_MS,
    ...over,
  });
  const left = (ms: number) => ({ presentUntilMs: NOW + ms });

  it("is stored, however much is left, and also if the entry of the task was lost", () => {
    for (const ms of [SPAN_MS + 1, SPAN_MS, 1, -1]) expect(isKeptByLooks(task(left(ms)))).to.equal(true);
    expect(isKeptByLooks(task({ presentUntilMs: null }))).to.equal(true);
  });

  it("is not stored if it would change nothing", () => {
    expect(isKeptByLooks(task({ ...left(1), presenceMs: null }))).to.equal(false);
    expect(isKeptByLooks(task({ ...left(1), cancelRequested: true }))).to.equal(false);
    expect(isKeptByLooks(task({ ...left(1), state: "succeeded" }))).to.equal(false);
    // It is kept until its deadline already.
    expect(isKeptByLooks(task({ ...left(1), deadlineMs: NOW + 1 }))).to.equal(false);
    expect(isKeptByLooks(task({ ...left(1), deadlineMs: NOW + 2 }))).to.equal(true);
  });

  it("keeps the task for its presence, but not beyond its deadline", () => {
    expect(keptUntil(task(), NOW)).to.equal(NOW + SPAN_MS);
    expect(keptUntil(task({ deadlineMs: NOW + 5 }), NOW)).to.equal(NOW + 5);
    expect(keptUntil(task({ deadlineMs: NOW + SPAN_MS + 5 }), NOW)).to.equal(NOW + SPAN_MS);
  });

  it("is asked for once in each third", () => {
    expect(longestPauseS(SPAN_MS)).to.equal(3);
    expect(longestPauseS(8000)).to.equal(2);
    expect(longestPauseS(null)).to.equal(Number.POSITIVE_INFINITY);
  });
});
