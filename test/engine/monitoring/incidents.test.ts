import { expect } from "chai";
import { faultsOf, LineGrowth, pastOf, type QueueState } from "../../../src/engine/monitoring/incidents.ts";
import { createLog } from "../../../src/log.ts";
import type { QueueRow } from "../../../src/store/line/queue.ts";
import { failureOf, openEngine, type TestEngine } from "../../helpers/engine.ts";

/** A queue at work, of which nothing is wrong. */
const state = (row: object = {}, more: Partial<QueueState> = {}, snapshot: object = {}): QueueState => ({
  row: {
    ...{ dead: 0, oldestWaitingMs: null, rest: null, longestTurnMs: null },
    ...{ acceptedLastMinute: 60, finishedLastMinute: 60, failedLastMinute: 0 },
    snapshot: {
      ...{ queue: "resize", waiting: 0, scheduled: 0, running: 2, workers: 1, slots: 2, paused: false },
      ...{ timesMs: [260, 250, 270, 260, 255], agesMs: [] },
      ...snapshot,
    },
    ...row,
  } as unknown as QueueRow,
  ...{ isOrphaned: false, maxWaiting: 10_000, heldBy: null, past: null, grownFrom: null },
  ...more,
});
const past = { agoMs: 3_480_000, serviceMs: 260, failedShare: 0.01 };
const rate = { max: 5, per: "1s" };

describe("what is wrong with a queue", () => {
  const waiting = { waiting: 2335 };
  const table: Readonly<Record<string, QueueState>> = {
    "": state(),
    "dead resize: 3 dead": state({ dead: 3 }),
    "no-workers resize: 2,335 waiting, no worker, the oldest for 4 min": state(
      { oldestWaitingMs: 240_000 },
      {},
      { ...waiting, workers: 0 },
    ),
    "no-handler resize: 2,335 waiting, and no process has its handler": state({}, { isOrphaned: true }, waiting),
    "queue-full resize: full with 10,000 tasks; more are refused": state({}, {}, { waiting: 9990, scheduled: 10 }),
    "target-down resize: its API is down (ECONNREFUSED), 7 waiting": state(
      { rest: { sinceMs: 0, untilMs: 0, reason: "ECONNREFUSED" } },
      {},
      { waiting: 7 },
    ),
    "rate resize: 7 waiting, 5 a second allowed": state({}, { heldBy: rate }, { waiting: 7 }),
    "paused resize: paused, 7 waiting": state({}, {}, { waiting: 7, paused: true }),
    "growing resize: 6 a second come in, 1.5 are done; 380 waiting, 120 a minute ago": state(
      { acceptedLastMinute: 360, finishedLastMinute: 90 },
      { grownFrom: 120 },
      { waiting: 380 },
    ),
    "failing resize: 38 of 40 tasks failed in the last minute": state({
      finishedLastMinute: 40,
      failedLastMinute: 38,
    }),
    "slow resize: 17× slower than 58 min ago (4.4 s, 260 ms then)": state(
      {},
      { past },
      { timesMs: [260, 260, 4400, 4400, 4400, 4400, 4400] },
    ),
    "slow resize: 23× slower than 58 min ago (6 s, 260 ms then)": state(
      {},
      { past },
      { agesMs: [6000, 6000, 6000, 6000, 5000] },
    ),
  };
  for (const [sentence, of] of Object.entries(table))
    it(`is ${sentence || "nothing"}`, () =>
      expect(faultsOf(of).map(({ kind, text }) => `${kind} ${text}`)).to.deep.equal(sentence === "" ? [] : [sentence]));

  it("is no fault that was so before, that is not of now, or that turns of people take long", () => {
    const slow = { timesMs: [6000, 6000, 6000, 6000, 6000] };
    const failing = { failedLastMinute: 30 };
    for (const of of [
      state(failing, { past: { ...past, failedShare: 0.4 } }),
      state({ finishedLastMinute: 4, failedLastMinute: 4 }),
      state({ finishedLastMinute: 0 }, { past }, { ...slow, running: 0 }),
      state({ longestTurnMs: 0 }, { past }, slow),
      state({}, { past: { ...past, serviceMs: 2000 } }, slow),
    ])
      expect(faultsOf(of)).to.deep.equal([]);
  });

  it("is compared with the oldest samples that are kept", () => {
    const sample = (interval: number, p50: number | null) => ({
      ...{ interval, waiting: 0, running: 0, scheduled: 0, dead: 0, accepted: 0, started: 0 },
      ...{ finished: interval * 10, failed: interval },
      times: { serviceP50: p50, serviceP95: p50, waitP50: null, waitP95: null },
    });
    const samples = Array.from({ length: 360 }, (_, n) => sample(360 - n, n < 200 ? 6000 : 260));
    expect(pastOf(samples, 10_000, 3_610_000)).to.deep.equal({ agoMs: 3_310_000, serviceMs: 260, failedShare: 0.1 });
    expect(pastOf(samples.slice(0, 8), 10_000, 3_610_000), "too recent").to.equal(null);
  });

  it("is a line only if it has grown all the time, not in one go", () => {
    const growth = (lengths: readonly number[]) => {
      const line = new LineGrowth();
      return lengths.map((length, n) => line.add(length, n * 10_000)).at(-1);
    };
    expect(growth([0, 10, 20, 30, 40, 50, 60])).to.equal(0);
    expect(growth([5, 5, 10, 20, 30, 40, 50, 60]), "that of a minute ago").to.equal(5);
    expect(growth([0, 0, 0, 0, 0, 500, 500])).to.equal(null);
    expect(growth([0, 500, 490, 480, 470, 460, 450])).to.equal(null);
    expect(growth([0, 1, 2, 3, 4, 5, 6]), "a few").to.equal(null);
    expect(growth([0, 10, 20]), "too soon").to.equal(null);
  });
});

describe("incidents", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  it("are found by one process, told once when they begin and when they end, and read by all", async () => {
    const other = await openEngine({ prefix: t.keys.prefix });
    const logs: string[] = [];
    const log = createLog("info", { destination: { write: (line: string) => void logs.push(JSON.parse(line).msg) } });
    const lookBoth = async () => {
      for (const { engine } of [t, other]) await engine.incidents.look(log);
    };
    const told = async () => (await other.engine.incidents.read()).map(({ text }) => text);
    /** As if the last look had been so long ago. */
    const pass = async (ms: number) => {
      const [list = "", till = 0] = await t.redis.hmget(t.key("incidents"), "list", "till");
      const earlier = JSON.parse(list ?? "").map((fault: { sinceMs: number; seenMs: number }) => ({
        ...{ ...fault, sinceMs: fault.sinceMs - ms, seenMs: fault.seenMs - ms },
      }));
      await t.redis.hset(t.key("incidents"), "list", JSON.stringify(earlier), "till", Number(till));
    };
    await lookBoth();
    expect(await told()).to.deep.equal([]);
    await t.submit({ id: "one" });
    const [lease] = await t.reserve(1);
    if (!lease) throw new Error("nothing was reserved");
    await t.engine.leases.fail({ ...lease, queue: "jobs" }, failureOf("retry"), { ...t.settings, attempts: 1 });
    await lookBoth();
    expect(await told()).to.deep.equal(["jobs: 1 dead"]);
    expect(logs, "it may be gone at once").to.deep.equal([]);
    await pass(5000);
    await lookBoth();
    await lookBoth();
    await t.engine.call("retry", { id: "one", queue: "jobs" });
    await lookBoth();
    const now = (await told()).filter((text) => text.includes("dead"));
    expect(now, "no longer").to.deep.equal([]);
    await pass(31_000);
    await lookBoth();
    await lookBoth();
    const dead = (texts: readonly (string | undefined)[]) => texts.filter((text) => text?.includes("1 dead"));
    expect(dead(logs)).to.deep.equal(["incident begins: jobs: 1 dead", "incident has ended: jobs: 1 dead"]);
    const events = (await t.engine.events.latest(20)).filter(({ detail }) => detail === "jobs: 1 dead");
    expect(events.map(({ kind }) => kind)).to.deep.equal(["incident-ended", "incident-began"]);
    other.redis.disconnect();
  });
});
