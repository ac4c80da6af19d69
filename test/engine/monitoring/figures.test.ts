import { expect } from "chai";
import { figuresOf, holdsTasks } from "../../../src/engine/monitoring/figures.ts";
import { Keys } from "../../../src/store/keys.ts";
import { BATCH_LIMIT, type QueueRow, type QueueSnapshot, type Scripts } from "../../../src/store/verbs/scripts.ts";

const SNAPSHOT: QueueSnapshot = {
  ...{ queue: "jobs", waiting: 0, scheduled: 0, running: 0, paused: false, breakerOpen: false, workers: 1, slots: 4 },
  ...{ meanMs: null, variance: null, samples: 0, misses: [], slowMeanMs: null, slowMisses: [], agesMs: [] },
};
const rowOf = ({ snapshot, ...row }: Partial<Omit<QueueRow, "snapshot">> & { snapshot?: Partial<QueueSnapshot> }) => ({
  ...{ dead: 0, oldestWaitingMs: null, lateMs: null, breaker: null, newcomerIndex: 0 },
  ...{ acceptedLastMinute: 0, finishedLastMinute: 0, failedLastMinute: 0 },
  ...row,
  snapshot: { ...SNAPSHOT, ...snapshot },
});

/** The figures over partitions that have these. */
async function sumOf(...parts: readonly Parameters<typeof rowOf>[0][]): Promise<QueueRow | undefined> {
  const keys = new Keys("figures", parts.length);
  const queue = async (tag: string) => [rowOf(parts[keys.tags.indexOf(tag)] ?? {})];
  return (await figuresOf({ queue } as unknown as Scripts, keys, ["jobs"]))[0];
}

describe("the figures of a queue over several partitions", () => {
  it("are the sums of what is counted", async () => {
    const counts = (n: number) => ({
      ...{
        dead: n,
        newcomerIndex: 2 * n,
        acceptedLastMinute: 3 * n,
        finishedLastMinute: 4 * n,
        failedLastMinute: 5 * n,
      },
      snapshot: { waiting: 6 * n, scheduled: 7 * n, running: 8 * n },
    });
    const sum = await sumOf(counts(1), counts(10), counts(100));
    expect(sum).to.deep.equal(rowOf({ ...counts(111), snapshot: { ...counts(111).snapshot, starting: null } }));
  });

  it("have the longest waits, if any task waits", async () => {
    const sum = await sumOf({ oldestWaitingMs: 5 }, { oldestWaitingMs: 7, lateMs: 1 }, { oldestWaitingMs: 6 });
    expect([sum?.oldestWaitingMs, sum?.lateMs]).to.deep.equal([7, 1]);
    expect((await sumOf({ lateMs: 3 }, {}))?.lateMs).to.equal(3);
    expect((await sumOf({}, {}))?.lateMs).to.equal(null);
  });

  it("weigh the times by how many tasks each partition has seen", async () => {
    const times = (n: number) => ({ meanMs: n, variance: 2 * n, slowMeanMs: 3 * n });
    const sum = await sumOf({ snapshot: { ...times(10), samples: 3 } }, { snapshot: { ...times(50), samples: 1 } });
    expect(sum?.snapshot).to.include({ ...times(20), samples: 4 });
    const known = { ...times(10), samples: 3 };
    expect((await sumOf({ snapshot: known }, {}))?.snapshot).to.include(known);
    expect((await sumOf({}, { snapshot: known }))?.snapshot).to.include(known);
  });

  it("say that it is paused, or that its circuit breaker is open, if any partition does", async () => {
    const breaker = { sinceMs: 1, nextProbeMs: 2, reason: "down" };
    for (const parts of [
      [{}, { breaker, snapshot: { paused: true, breakerOpen: true } }],
      [{ breaker, snapshot: { paused: true, breakerOpen: true } }, {}],
    ]) {
      const sum = await sumOf(...parts);
      expect(sum?.breaker).to.equal(breaker);
      expect(sum?.snapshot).to.include({ paused: true, breakerOpen: true });
    }
    expect((await sumOf({}, {}))?.snapshot).to.include({ paused: false, breakerOpen: false });
  });

  it("count what may start in a keyed line, and all that waits in partitions that are not keyed", async () => {
    const [keyed, plain] = [{ snapshot: { waiting: 9, startable: 2 } }, { snapshot: { waiting: 5 } }];
    expect((await sumOf(keyed, plain))?.snapshot.startable).to.equal(7);
    expect((await sumOf(plain, keyed))?.snapshot.startable).to.equal(7);
    expect((await sumOf(plain, plain))?.snapshot).not.to.have.property("startable");
  });

  it("are read in batches, in the order that was asked for", async () => {
    const names = Array.from({ length: 2 * BATCH_LIMIT + 1 }, (_, n) => `q${n}`);
    const sizes: number[] = [];
    const queue = async (_tag: string, some: readonly string[]) => {
      sizes.push(some.length);
      return some.map((name) => rowOf({ snapshot: { queue: name } }));
    };
    const rows = await figuresOf({ queue } as unknown as Scripts, new Keys("figures", 1), names);
    expect(rows.map(({ snapshot }) => snapshot.queue)).to.deep.equal(names);
    expect(sizes).to.deep.equal([BATCH_LIMIT, BATCH_LIMIT, 1]);
  });

  it("tell whether it holds tasks of any kind", () => {
    expect(holdsTasks(rowOf({ oldestWaitingMs: 1, acceptedLastMinute: 1 }))).to.equal(false);
    expect(holdsTasks(rowOf({ dead: 1 }))).to.equal(true);
    for (const kind of ["waiting", "scheduled", "running"])
      expect(holdsTasks(rowOf({ snapshot: { [kind]: 1 } })), kind).to.equal(true);
  });
});
