import { expect } from "chai";
import type { PageEnd } from "../../../src/engine/reading/page.ts";
import { cursorOf, readCursor } from "../../../src/http/input/cursor.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the list of those who wait in a fair line over several partitions", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ partitions: 3 });
  });
  afterEach(() => t.close());

  const idsIn = (partition: number, name: string, count: number) =>
    Array.from({ length: 1000 }, (_, n) => `${name}${n}`)
      .filter((id) => t.keys.partitionOf(id) === partition)
      .slice(0, count);
  const joinAll = async (key: string, ids: readonly string[], priority = 3) => {
    for (const id of ids) await t.submit({ id, priority, share: { key, weight: 1 } });
  };
  const reserve = (partition: number, count: number) =>
    t.engine.leases.reserve(partition, {
      queue: "jobs",
      worker: "w",
      reservation: "r",
      count,
      leaseMs: 60_000,
      rate: undefined,
    });
  /** All ids; what happens between two pages. */
  const walk = async (limit: number, between: () => Promise<unknown> = async () => undefined) => {
    const ids: string[] = [];
    for (let after: PageEnd | null = null; ; ) {
      const { entries, next } = await t.engine.queues.page("waiting", { queue: "jobs", after, limit });
      ids.push(...entries.map(({ id }) => id));
      if (next === null) return ids;
      after = readCursor(cursorOf(next));
      await between();
    }
  };
  /** One partition has come far, another has just begun, and in a third nobody has started. */
  const fill = async () => {
    await joinAll("A", idsIn(0, "a", 40));
    await reserve(0, 28);
    await joinAll("B", idsIn(1, "b", 10));
    await reserve(1, 2);
    await joinAll("C", idsIn(2, "c", 9));
    await joinAll("D", [...idsIn(0, "d", 3), ...idsIn(1, "d", 3)]);
    await joinAll("E", [...idsIn(0, "e", 3), ...idsIn(2, "e", 3)], 0);
  };

  it("is in the order of their places, on pages of any length", async () => {
    await fill();
    const all = await walk(200);
    expect(all).to.have.length(12 + 8 + 9 + 6 + 6);
    const places = await Promise.all(all.map(async (id) => (await t.look(id)).index));
    expect(places).to.deep.equal(all.map((_, n) => n));
    for (const limit of [1, 4, 10]) expect(await walk(limit)).to.deep.equal(all);
  });

  it("names each once while the line moves on between two pages", async () => {
    await fill();
    const all = await walk(200);
    let moved = 0;
    const seen = await walk(6, async () => {
      moved += 1;
      const request = {
        queue: "jobs",
        worker: "w",
        reservation: `m${moved}`,
        count: 1,
        leaseMs: 60_000,
        rate: undefined,
      };
      await t.engine.leases.reserve(moved % 3, request);
    });
    expect(new Set(seen).size).to.equal(seen.length);
    const waiting = await walk(200);
    expect(waiting.filter((id) => !seen.includes(id))).to.deep.equal([]);
    expect(all).to.include.members(seen);
  });
});
