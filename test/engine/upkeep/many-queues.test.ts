import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { settingsOf } from "../../../src/engine/settings.ts";
import { Tick } from "../../../src/engine/upkeep/tick.ts";
import { ProblemError } from "../../../src/errors.ts";
import { defineHandler } from "../../../src/handler/define.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { Scripts } from "../../../src/store/library/scripts.ts";
import type { RegisteredQueue } from "../../../src/store/line/queue.ts";
import type { TickAnswer } from "../../../src/store/ops/tick.ts";

const KEYS = new Keys("many", 2);
const OWN = Array.from({ length: 240 }, (_, n) => `own${n}`);
const ownIn = (partition: number) => OWN.filter((queue) => KEYS.partitionOfQueue(queue) === partition);
const HERE = ownIn(0);
/** How many there are in each call if so many fit. */
const portions = (count: number, max: number) =>
  Array.from({ length: Math.ceil(count / max) }, (_, n) => Math.min(max, count - n * max));

const settings = (queue: string, leaseMs: number) => ({
  ...settingsOf(defineHandler({ queue, run: () => undefined }), readConfig({})),
  leaseMs,
});
const registered = (queue: string, silentMs: number, leaseMs: number | null = 60_000): RegisteredQueue => ({
  ...{ queue, silentMs, leaseMs, maxLost: 3, keepMs: 1, tombstoneMs: 1, deadMs: 1 },
});
const NOTHING: TickAnswer = { promoted: 0, nextMs: null, lost: [], late: [], held: false, unrenewed: [], waiting: [] };

describe("the tick of a partition with many queues", () => {
  /** The queues of each call for a tick. */
  let ticked: string[][];
  /** The queues of each call that registers them, and whether it is the last. */
  let registrations: { queues: number; last: boolean }[];
  /** By partition. */
  let others: Readonly<Record<string, readonly RegisteredQueue[]>>;
  let answer: (queues: readonly string[]) => TickAnswer | Promise<never>;
  let found: string[];
  let tick: Tick;
  beforeEach(() => {
    [ticked, registrations, found] = [[], [], []];
    others = {};
    answer = () => NOTHING;
    const scripts = {
      tick: async (_tag: string, { items: queues }: Parameters<Scripts["tick"]>[1]) => {
        ticked.push(queues.map(({ queue }) => queue));
        return answer(queues.map(({ queue }) => queue));
      },
      register: async (tag: string, { queues, deleteAfterMs }: Parameters<Scripts["register"]>[1]) => {
        registrations.push({ queues: queues.length, last: deleteAfterMs !== null });
        const own = ownIn(KEYS.tags.indexOf(tag)).map((queue) => registered(queue, 0));
        return deleteAfterMs === null ? [] : [...own, ...(others[tag] ?? [])];
      },
    };
    const own = new Map(OWN.map((queue) => [queue, settings(queue, 5000 + HERE.indexOf(queue))]));
    tick = new Tick(scripts as unknown as Scripts, KEYS, own, (queue) => found.push(queue));
  });

  it("takes several calls, which do all that is due in any of them", async () => {
    others = { [KEYS.tag(0)]: [registered("other", 7)] };
    const [first = "", later = ""] = [HERE[0], HERE[50]];
    const lost = { queue: "own1", id: "l", worker: "w", losses: 1, outcome: "waiting" } as const;
    const late = { queue: "own1", id: "d", verdict: "canceled", reason: "deadline" } as const;
    answer = (queues) => {
      if (queues.includes(first)) return { ...NOTHING, promoted: 2, nextMs: 900, waiting: [first] };
      if (queues.includes(later)) return { ...NOTHING, promoted: 3, nextMs: 400, lost: [lost], late: [late] };
      return { ...NOTHING, held: true, unrenewed: [later], waiting: ["other"] };
    };
    expect(await tick.run(0)).to.deep.equal({
      ...{
        promoted: 5,
        nextMs: 400,
        lost: [lost],
        late: [late],
        held: true,
        unrenewed: [later],
        waiting: [first, "other"],
      },
      shortestLeaseMs: 5000,
    });
    expect(ticked.map((queues) => queues.length)).to.deep.equal(portions(HERE.length + 1, 50));
    expect(ticked.flat()).to.deep.equal([...HERE, "other"]);
    expect(await tick.queuesOf(0)).to.deep.equal([...HERE, "other"]);
  });

  it("has nothing to wait for if nothing is due", async () => {
    expect(await tick.run(0)).to.include({ nextMs: null, promoted: 0, held: false });
  });

  it("registers its own queues in batches, once in a while, each in its partition, and learns of the others", async () => {
    others = {
      [KEYS.tag(0)]: [registered("near", 40), registered("far", 10, null)],
      [KEYS.tag(1)]: [registered("there", 5, null)],
    };
    for (const partition of [0, 0, 1]) await tick.run(partition);
    const once = (partition: number) => {
      const counts = portions(ownIn(partition).length, 100);
      return counts.map((queues, n) => ({ queues, last: n === counts.length - 1 }));
    };
    expect(registrations).to.deep.equal([...once(0), ...once(1)]);
    expect(found).to.deep.equal(["near", "far", "there"]);
    expect([...tick.others]).to.deep.equal([
      ["near", 40],
      ["far", 10],
      ["there", 5],
    ]);
  });

  it("says in which partitions the store refuses writes, until it takes them again or is away", async () => {
    const refused = () => Promise.reject(new ProblemError("store-unavailable", "OOM command not allowed"));
    const run = (partition: number) =>
      tick.run(partition).then(
        () => "done",
        () => "failed",
      );
    const refusing = () => [...tick.refusals.keys()];
    answer = refused;
    expect([await run(0), await run(1), refusing()]).to.deep.equal(["failed", "failed", [0, 1]]);
    expect(tick.refusals.get(0)).to.include("memory");
    answer = () => NOTHING;
    expect([await run(0), refusing()]).to.deep.equal(["done", [1]]);
    answer = () => Promise.reject(new Error("away"));
    expect([await run(1), refusing()]).to.deep.equal(["failed", []]);
  });
});
