import { expect } from "chai";
import { figuresOf, holdsTasks } from "../../../src/engine/monitoring/figures.ts";
import { Keys } from "../../../src/store/keys.ts";
import { BATCH_LIMIT } from "../../../src/store/library/script.ts";
import type { QueueRow } from "../../../src/store/line/queue.ts";
import type { QueueSnapshot } from "../../../src/store/line/snapshot.ts";

const SNAPSHOT: QueueSnapshot = {
  ...{ queue: "jobs", waiting: 0, scheduled: 0, running: 0, paused: false, resting: false, workers: 1, slots: 4 },
  ...{ samples: 0, timesMs: [], agesMs: [] },
};
const rowOf = ({ snapshot, ...row }: Partial<Omit<QueueRow, "snapshot">> & { snapshot?: Partial<QueueSnapshot> }) => ({
  ...{ dead: 0, oldestWaitingMs: null, lateMs: null, rest: null, newcomerIndex: 0 },
  ...{ declaredRate: null, setRate: null, setConcurrency: null },
  ...{ acceptedLastMinute: 0, finishedLastMinute: 0, failedLastMinute: 0 },
  ...row,
  snapshot: { ...SNAPSHOT, ...snapshot },
});

describe("the figures of queues", () => {
  it("are read in batches, each queue in its partition, in the order that was asked for", async () => {
    const names = Array.from({ length: 4 * BATCH_LIMIT }, (_, n) => `q${n}`);
    for (const partitions of [1, 3]) {
      const keys = new Keys("figures", partitions);
      const queue = async (tag: string, some: readonly string[]) => {
        expect(some).to.have.lengthOf.within(1, BATCH_LIMIT);
        expect(new Set(some.map((name) => keys.tagOfQueue(name)))).to.deep.equal(new Set([tag]));
        return some.map((name) => rowOf({ snapshot: { queue: name } }));
      };
      const rows = await figuresOf({ queue }, keys, names);
      expect(rows.map(({ snapshot }) => snapshot.queue)).to.deep.equal(names);
    }
  });

  it("tell whether it holds tasks of any kind", () => {
    expect(holdsTasks(rowOf({ oldestWaitingMs: 1, acceptedLastMinute: 1 }))).to.equal(false);
    expect(holdsTasks(rowOf({ dead: 1 }))).to.equal(true);
    for (const kind of ["waiting", "scheduled", "running"])
      expect(holdsTasks(rowOf({ snapshot: { [kind]: 1 } })), kind).to.equal(true);
  });
});
