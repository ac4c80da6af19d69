import { expect } from "chai";
import { groupAddress, Homes } from "../../../src/engine/calls/homes.ts";
import { ProblemError } from "../../../src/errors.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { Scripts } from "../../../src/store/library/scripts.ts";

const keys = new Keys("homes:", 3);
/** An id whose partition is this one. */
const idIn = (partition: number, nth = 0): string => {
  const ids = Array.from({ length: 100 }, (_, n) => `t${n}`).filter((id) => keys.partitionOf(id) === partition);
  return ids[nth] ?? expect.fail("no such id");
};
const partitionOf = (tag: string) => keys.tags.indexOf(tag);
/** Its own partition is 1. */
const ID = idIn(1);

/** What the store knows, and what it was asked. */
interface Known {
  /** Where tasks are that are not in the partition of their id. */
  readonly homes: Record<string, number>;
  /** How long is left of tasks, ms: Infinity until they have ended. */
  readonly left: Record<string, number>;
  /** The pointers that are due, by partition. */
  readonly due: Record<number, Awaited<ReturnType<Scripts["repoint"]>>>;
  readonly asked: unknown[][];
  isAway: boolean;
}

function storeKnowing(given: Partial<Known> = {}): { known: Known; scripts: Scripts } {
  const known: Known = { homes: {}, left: {}, due: {}, asked: [], isAway: false, ...given };
  const note = (...call: unknown[]) => {
    if (known.isAway) throw new ProblemError("store-unavailable");
    known.asked.push(call);
  };
  const scripts: Partial<Scripts> = {
    home: async (tag, ids) => {
      note("home", partitionOf(tag), ...ids);
      return ids.map((id) => known.homes[id] ?? null);
    },
    lifetimes: async (tag, ids) => {
      note("lifetimes", partitionOf(tag), ...ids);
      return ids.map((id) => known.left[id] ?? 0);
    },
    repoint: async (tag, { checked, limit }) => {
      if (checked.length === 0) return known.due[partitionOf(tag)] ?? [];
      note("repoint", partitionOf(tag), limit, ...checked.map(({ id, score, nextMs }) => `${id} ${score} ${nextMs}`));
      return [];
    },
    point: async (tag, items) => {
      note("point", partitionOf(tag), ...items.map(({ id, home }) => `${id} ${home}`));
      return [];
    },
  };
  return { known, scripts: scripts as Scripts };
}

describe("a call for a task of which only the id is known", () => {
  const isAbsent = (answer: string) => answer === "absent";
  /** Calls where the task is; returns the answer, and which partitions were called. */
  const callAt = async (homes: Homes, id: string, home: number) => {
    const called: number[] = [];
    const call = async (partition: number) => {
      called.push(partition);
      return partition === home ? "here" : "absent";
    };
    return [await homes.at(id, call, isAbsent), ...called];
  };

  it("goes where the pointer leads only if the task is absent, and at once to that the next time", async () => {
    const { known, scripts } = storeKnowing({ homes: { [ID]: 2 } });
    const homes = new Homes(scripts, keys);
    expect(await callAt(homes, idIn(0), 0)).to.deep.equal(["here", 0]);
    expect(known.asked).to.deep.equal([]);
    expect(await callAt(homes, ID, 2)).to.deep.equal(["here", 1, 2]);
    expect(await callAt(homes, ID, 2)).to.deep.equal(["here", 2]);
    expect(known.asked).to.deep.equal([["home", 1, ID]]);
    // What follows from a task is with it.
    expect(await callAt(homes, `${ID}:webhook:1`, 2)).to.deep.equal(["here", 2]);
  });

  it("distinguishes a task from a group with the same id, and from what follows from that", async () => {
    const homes = new Homes(storeKnowing({ homes: { [ID]: 2, [`${ID}:group`]: 0 } }).scripts, keys);
    expect(await callAt(homes, ID, 2)).to.deep.equal(["here", 1, 2]);
    expect(await callAt(homes, groupAddress(ID), 0)).to.deep.equal(["here", 1, 0]);
    expect(await callAt(homes, `${ID}:webhook:group:1`, 0)).to.deep.equal(["here", 0]);
    expect(await callAt(homes, `${ID}:webhook:1`, 2)).to.deep.equal(["here", 2]);
  });

  it("finds one that was deleted, and submitted again to another queue", async () => {
    const { known, scripts } = storeKnowing({ homes: { [ID]: 2 } });
    const homes = new Homes(scripts, keys);
    await callAt(homes, ID, 2);
    known.homes[ID] = 0;
    expect(await callAt(homes, ID, 0)).to.deep.equal(["here", 2, 0]);
    delete known.homes[ID];
    expect(await callAt(homes, ID, 1)).to.deep.equal(["here", 0, 1]);
    expect(await callAt(homes, ID, 1)).to.deep.equal(["here", 1]);
  });

  it("is made once if the task is nowhere else, and asks nothing if there is but one partition", async () => {
    const { known, scripts } = storeKnowing();
    expect(await callAt(new Homes(scripts, keys), ID, -1)).to.deep.equal(["absent", 1]);
    expect(known.asked).to.have.lengthOf(1);
    expect(await callAt(new Homes(scripts, new Keys("homes:", 1)), ID, -1)).to.deep.equal(["absent", 0]);
    expect(known.asked).to.have.lengthOf(1);
  });

  it("remembers the latest, as many as there may be", async () => {
    const ids = Array.from({ length: 101 }, (_, n) => `task${n}`);
    const elsewhere = (id: string) => (keys.partitionOf(id) + 1) % 3;
    const { scripts } = storeKnowing({ homes: Object.fromEntries(ids.map((id) => [id, elsewhere(id)])) });
    const homes = new Homes(scripts, keys, 100);
    const [first = "", second = "", ...others] = ids;
    for (const id of [first, second]) await callAt(homes, id, elsewhere(id));
    await Promise.all(others.map((id) => callAt(homes, id, elsewhere(id))));
    expect(await callAt(homes, second, elsewhere(second))).to.have.lengthOf(2);
    expect(await callAt(homes, first, elsewhere(first))).to.have.lengthOf(3);
  });
});
