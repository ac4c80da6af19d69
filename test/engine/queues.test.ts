import { expect } from "chai";
import { figuresOf, holdsTasks, Queues } from "../../src/engine/queues.ts";
import type { QueueSettings } from "../../src/engine/settings.ts";
import { Scans } from "../../src/engine/watch/pages.ts";
import { Keys } from "../../src/store/keys.ts";
import type { Scripts } from "../../src/store/library/scripts.ts";
import { BATCH_LIMIT } from "../../src/store/library/verb.ts";
import type { QueueRow } from "../../src/store/line/queue.ts";
import type { QueueSnapshot } from "../../src/store/line/snapshot.ts";

const settings = (queue: string) => ({ queue, attempts: queue === "mine" ? 1 : 2 }) as unknown as QueueSettings;
const row = (queue: string, workers = 0) => ({ snapshot: { queue, workers } }) as unknown as QueueRow;

describe("the queues that a process knows", () => {
  const keys = new Keys("queues:", 3);
  const paused: string[] = [];
  const scripts = {
    pause: async (tag: string, of: { queue: string; paused: boolean }) => {
      paused.push(`${keys.tags.indexOf(tag)} ${of.queue} ${of.paused}`);
    },
  } as unknown as Scripts;
  const others = new Map([
    ["stray", 60_001],
    ["fresh", 60_000],
  ]);
  const own = new Map([["mine", settings("mine")]]);
  const queues = new Queues(scripts, keys, own, settings("unknown"), () => others, new Scans());

  it("are its own first, then those of others by name", () => {
    expect(queues.names).to.deep.equal(["mine", "fresh", "stray"]);
    expect(["mine", "fresh", "nowhere"].map((queue) => queues.has(queue))).to.deep.equal([true, true, false]);
  });

  it("have the settings of their handlers, or such as suit any queue", () => {
    expect(queues.settings("mine")).to.include({ queue: "mine", attempts: 1 });
    expect(queues.settings("stray")).to.include({ queue: "stray", attempts: 2 });
  });

  it("are orphaned if no process has named them for a minute, and no worker takes tasks of them", () => {
    const rows = [row("stray"), row("stray", 1), row("fresh"), row("mine")];
    expect(rows.map((one) => queues.isOrphaned(one))).to.deep.equal([true, false, false, false]);
  });

  it("are paused in their partitions", async () => {
    await queues.pause("mine", true);
    expect(paused).to.deep.equal([`${keys.partitionOfQueue("mine")} mine true`]);
  });
});

const SNAPSHOT: QueueSnapshot = {
  ...{ queue: "jobs", waiting: 0, scheduled: 0, running: 0, paused: false, resting: false, workers: 1, slots: 4 },
  ...{ samples: 0, timesMs: [], agesMs: [] },
};
const rowOf = ({ snapshot, ...row }: Partial<Omit<QueueRow, "snapshot">> & { snapshot?: Partial<QueueSnapshot> }) => ({
  ...{ dead: 0, oldestWaitingMs: null, lateMs: null, rest: null, newcomerIndex: 0 },
  ...{
    declaredRate: null,
    setRate: null,
    setConcurrency: null,
    declaredTotal: null,
    setTotal: null,
    longestTurnMs: null,
  },
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
