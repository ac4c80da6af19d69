import { expect } from "chai";
import type { PageEnd } from "../../../src/engine/reading/page.ts";
import { cursorOf, readCursor } from "../../../src/http/queues/cursor.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the list of those who wait in a fair line", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const idsOf = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`);
  const joinAll = async (key: string, ids: readonly string[], priority = 3) => {
    for (const id of ids) await t.submit({ id, priority, share: { key, weight: 1 } });
  };
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
  /** One key has come far, another has just begun, and of the others nobody has started. */
  const fill = async () => {
    await joinAll("A", idsOf("a", 40));
    await t.reserve(28);
    await joinAll("B", idsOf("b", 10));
    await t.reserve(2);
    await joinAll("C", idsOf("c", 9));
    await joinAll("D", idsOf("d", 6));
    await joinAll("E", idsOf("e", 6), 0);
  };

  it("is in the order of their places, on pages of any length", async () => {
    await fill();
    const all = await walk(200);
    expect(all).to.have.length(40 - 28 + 10 - 2 + 9 + 6 + 6);
    const places = await Promise.all(all.map(async (id) => (await t.look(id)).index));
    expect(places).to.deep.equal(all.map((_, n) => n));
    for (const limit of [1, 4, 10]) expect(await walk(limit)).to.deep.equal(all);
  });

  it("names each once while the line moves on between two pages", async () => {
    await fill();
    const all = await walk(200);
    const seen = await walk(6, () => t.reserve());
    expect(new Set(seen).size).to.equal(seen.length);
    const waiting = await walk(200);
    expect(waiting.filter((id) => !seen.includes(id))).to.deep.equal([]);
    expect(all).to.include.members(seen);
  });
});
