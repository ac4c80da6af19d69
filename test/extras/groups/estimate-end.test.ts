import { expect } from "chai";
import { estimateEnd } from "../../../src/extras/groups/estimate-end.ts";
import { viewOf } from "../../../src/extras/groups/group-inspection.ts";
import type { GroupRow, MemberCounts } from "../../../src/extras/groups/verbs.ts";
import type { QueueSnapshot } from "../../../src/store/line/snapshot.ts";
import { NO_TIMES, serviceTimes } from "../../shared/service-times.ts";

const NOW = 1_000_000;
/** Its only slot is free: what waits at index 0 starts at once. A task takes ten seconds, give or take two. */
const IDLE: QueueSnapshot = {
  ...{ queue: "jobs", waiting: 1, scheduled: 0, running: 0, paused: false, resting: false, workers: 1, slots: 1 },
  ...serviceTimes(10_000, 2000),
  agesMs: [],
};
const counts = (over: Partial<MemberCounts>): MemberCounts => ({
  ...{ waiting: 0, scheduled: 0, retrying: 0, running: 0, succeeded: 0, failed: 0, canceled: 0 },
  ...over,
});

describe("the end of a group", () => {
  const endOf = (
    over: Partial<MemberCounts>,
    { index = 0, dueMs = null, begunMs = null, snapshot = {} }: Given = {},
  ) => {
    const members = { counts: counts(over), index, turn: null, dueMs, begunMs };
    const end = estimateEnd(members, { ...IDLE, ...snapshot }, NOW);
    return end && [end.low, end.seconds, end.high, end.basis];
  };
  interface Given {
    readonly index?: number | null;
    readonly dueMs?: number | null;
    readonly begunMs?: number | null;
    readonly snapshot?: Partial<QueueSnapshot>;
  }

  it("is the start of the last member in line, and the time of a task", () => {
    expect(endOf({ waiting: 1 })).to.deep.equal([8, 10, 12, "idle"]);
  });

  it("is the due time of the last scheduled or retrying member, and the time of a task", () => {
    const dueMs = NOW + 60_000;
    expect(endOf({ retrying: 1 }, { dueMs })).to.deep.equal([68, 70, 72, "schedule"]);
    // When it joins the line, others may be before it.
    const scheduled = endOf({ scheduled: 1 }, { dueMs });
    expect(scheduled?.slice(0, 2)).to.deep.equal([68, 70]);
    expect(scheduled?.[2]).to.be.greaterThan(72);
  });

  it("is what is left of the time of the latest running member, which began last", () => {
    expect(endOf({ running: 1 }, { begunMs: NOW - 4000 })).to.deep.equal([4, 6, 8, "running"]);
    expect(endOf({ running: 1 })).to.deep.equal([8, 10, 12, "running"]);
    expect(endOf({ running: 1 }, { begunMs: NOW - 60_000 })).to.deep.equal([0, 0, 2, "running"]);
  });

  it("is that of the last of these, with the latest bounds of all", () => {
    const given = { dueMs: NOW + 1000, begunMs: NOW };
    expect(endOf({ waiting: 2, retrying: 1, running: 3 }, given)).to.deep.equal([9, 11, 13, "schedule"]);
    expect(endOf({ waiting: 2, running: 3 }, { begunMs: NOW - 3000 })).to.deep.equal([8, 10, 12, "idle"]);
  });

  it("is unknown if one of them is, or how long tasks take", () => {
    expect(endOf({ waiting: 1, running: 1 }, { snapshot: { paused: true }, begunMs: NOW })).to.equal(null);
    expect(endOf({ running: 1, retrying: 1 }, { begunMs: NOW })).to.equal(null);
    expect(endOf({ running: 1 }, { snapshot: NO_TIMES })).to.equal(null);
  });
});

describe("what callers see of a group", () => {
  const row = (over: Partial<GroupRow> = {}): GroupRow => ({
    ...{
      presenceMs: null,
      presentUntilMs: null,
      queue: "jobs",
      caller: "",
      createdMs: 1,
      finishedMs: null,
      closedMs: null,
      canceledMs: null,
      expiresMs: 0,
      canceling: 0,
    },
    ...{ index: 3, turn: null, dueMs: null, begunMs: NOW, counts: counts({ running: 1 }) },
    ...over,
  });
  const view = (over: Partial<GroupRow> = {}) => viewOf("g", row(over), IDLE, NOW);

  it("is how many of its members have ended, below 100 % until the group has", () => {
    const seen = { waiting: 1, scheduled: 2, retrying: 3, running: 4, succeeded: 5, failed: 6, canceled: 9 };
    expect(view({ counts: counts(seen) })).to.include({ total: 30, percent: 66 });
    const all = counts({ succeeded: 3 });
    expect(view({ counts: all })).to.include({ total: 3, percent: 99, eta: null });
    expect(view({ counts: counts({}) })).to.include({ total: 0, percent: 0, eta: null });
    expect(view({ counts: all, closedMs: 1, finishedMs: 2 }).percent).to.equal(100);
  });

  it("is when it expires, once it has ended, and whether it has", () => {
    const ended = { closedMs: 1, finishedMs: 2 };
    expect(view({ expiresMs: NOW - 1 })).to.include({ expiresMs: null, expired: false });
    expect(view({ ...ended, expiresMs: NOW })).to.include({ expiresMs: NOW, expired: true });
    expect(view({ ...ended, expiresMs: NOW + 1 })).to.include({ expiresMs: NOW + 1, expired: false });
  });
});
