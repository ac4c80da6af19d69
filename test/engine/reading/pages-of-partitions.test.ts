import { expect } from "chai";
import { Homes } from "../../../src/engine/partitions/homes.ts";
import { finishedOf } from "../../../src/engine/reading/finished.ts";
import { type PageRequest, pageOf } from "../../../src/engine/reading/page.ts";
import { SHARED } from "../../../src/store/constants.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { Entry, Scripts } from "../../../src/store/verbs/scripts.ts";

/** An entry by its id and score, "a7", or with another order, "a7:1.5"; with "!" it does not match. */
const entry = (text: string): Entry => {
  const [, id = "", score = "", order = score] = /^([a-z]+)(\d+)(?::([\d.]+))?!?$/.exec(text) ?? [];
  return { id, score, order, key: "", run: "" };
};
const idsOf = ({ entries }: { readonly entries: readonly Entry[] }) => entries.map(({ id }) => id).join(" ");

describe("a page of a list over several partitions", () => {
  let asked: Parameters<Scripts["page"]>[1][];
  let homes: Homes;
  /** Reads a page of partitions that answer so: their entries, with a plus if there are more. */
  const page = async (parts: readonly string[], request: Partial<PageRequest> = {}) => {
    asked = [];
    const keys = new Keys("pages:", parts.length);
    const scripts: Partial<Scripts> = {
      page: async (tag, given) => {
        const partition = keys.tags.indexOf(tag);
        asked[partition] = given;
        const words = (parts[partition] ?? "").split(" ").filter((word) => word !== "" && word !== "+");
        const read = words.map(entry);
        const entries = words.filter((word) => !word.endsWith("!")).map(entry);
        const more = parts[partition]?.endsWith("+") ?? false;
        return { entries, last: read.at(-1) ?? null, more, looked: read.length, nowMs: 100 - partition };
      },
    };
    const all = scripts as Scripts;
    homes = new Homes(all, keys);
    const of = { scripts: all, keys, homes };
    return await pageOf(of, "waiting", { queue: "jobs", after: null, limit: 10, ...request });
  };

  it("has the entries of all in order, the lower ids first if scores are equal", async () => {
    const { next, looked, nowMs, ...rest } = await page(["b1 e5", "a1 c2 d2"]);
    expect(idsOf(rest)).to.equal("a b c d e");
    expect([next, looked, nowMs]).to.deep.equal([null, 5, 99]);
  });

  it("ends with its limit, of at most two hundred, and the next one begins there", async () => {
    const first = await page(["a1 c3 e5", "b2 d4"], { limit: 3 });
    expect(idsOf(first)).to.equal("a b c");
    expect(first.next).to.include({ id: "c", score: "3" }).and.not.to.have.property("parts");
    expect(idsOf(await page(["a1 c3", "b2"], { limit: 3 }))).to.equal("a b c");
    await page(["a1"], { limit: 1000 });
    expect(asked[0]).to.include({ limit: 200, max: 200 });
    await page(["a1"], { limit: 20, filter: { prefix: "a" } });
    expect(asked[0]).to.include({ limit: 20, max: 500 });
  });

  it("ends where the partition ends that was read least far, since that may have others which come first", async () => {
    const one = await page(["a1 b2 +", "c3 d4"]);
    expect([idsOf(one), one.next?.id]).to.deep.equal(["a b", "b"]);
    const two = await page(["a1 e5 +", "c3 d4 +"]);
    expect([idsOf(two), two.next?.id]).to.deep.equal(["a c d", "d"]);
    const three = await page(["c3 d4 +", "a1 e5 +"]);
    expect([idsOf(three), three.next?.id]).to.deep.equal(["a c d", "d"]);
    const none = await page(["a1 b2", "c3"]);
    expect(none.next).to.equal(null);
  });

  it("may be in reverse, the newest first", async () => {
    const seen = await page(["e5 b2 +", "d4 c3 a1"], { isNewestFirst: true });
    expect([idsOf(seen), seen.next?.id]).to.deep.equal(["e d c b", "b"]);
    expect(asked[0]).to.include({ isNewestFirst: true });
  });

  it("of a fair line goes by the order, lower partitions first, and remembers where it ends in each", async () => {
    const first = await page(["a70:1.5 b80:2.5", "c10:1.5 d20:3.5 +"], { limit: 3 });
    expect(idsOf(first)).to.equal("a c b");
    expect(first.next?.parts?.map((place) => place?.id)).to.deep.equal(["b", "c"]);
    const parts = first.next?.parts ?? [];
    const second = await page(["", "d20:3.5"], { after: { id: "b", score: "80", parts }, limit: 3 });
    expect(asked.map(({ after }) => after?.id)).to.deep.equal(["b", "c"]);
    expect([idsOf(second), second.next]).to.deep.equal(["d", null]);
    const stays = await page(["", "d20:3.5 +"], { after: { id: "b", score: "80", parts }, limit: 3 });
    expect(stays.next?.parts?.map((place) => place?.id)).to.deep.equal(["b", "d"]);
    expect((await page(["a70:1.5 +"])).next, "of a single partition").to.not.have.property("parts");
  });

  it("of a fair line ends in each where it was read to, though nothing matched there, but not beyond its end", async () => {
    const seen = await page(["a10:1.5 x20:2.5! +", "b10:2.2 y20:3.5! +"], { filter: {} });
    expect(idsOf(seen)).to.equal("a b");
    expect(seen.next?.parts?.map((place) => place?.id)).to.deep.equal(["x", "b"]);
  });

  it("tells this process in which partitions its tasks are", async () => {
    await page(["", "", "a1", "b2"]);
    expect(["a", "b"].map((id) => homes.of(id))).to.deep.equal([2, 3]);
  });

  it("begins at the same place in each partition of a line that is not fair", async () => {
    await page(["a1", "b2"], { after: { id: "x", score: "9" } });
    expect(asked.map(({ after }) => after)).to.deep.equal(Array(2).fill({ id: "x", score: "9" }));
  });
});

describe("a page of the latest outcomes over several partitions", () => {
  const page = async (
    parts: readonly string[],
    { before = [], ...request }: Partial<PageRequest> & { before?: readonly number[] } = {},
  ) => {
    const keys = new Keys("finished:", parts.length);
    const same: boolean[] = [];
    const scripts: Partial<Scripts> = {
      finished: async (tag, given) => {
        const partition = keys.tags.indexOf(tag);
        same[partition] = given.same;
        const entries = (parts[partition] ?? "").split(" ").filter(Boolean).map(entry);
        return { entries, before: before[partition] ?? 0, looked: entries.length, nowMs: 100 - partition };
      },
      home: async (_, ids) => ids.map(() => 1),
    };
    const all = scripts as Scripts;
    const of = { scripts: all, keys, homes: new Homes(all, keys) };
    return { ...(await finishedOf(of, { queue: "jobs", after: null, limit: 10, ...request })), same };
  };

  it("has those of all, the newest first, those of lower partitions first if they ended together", async () => {
    const seen = await page(["d9 b5 a1", "e9 c5", ""]);
    expect(idsOf(seen)).to.equal("d e b c a");
    expect([seen.next, seen.looked, seen.nowMs]).to.deep.equal([null, 5, 98]);
  });

  it("ends with its limit, and the next one begins after it: with those that ended together in later partitions", async () => {
    const first = await page(["d9 b5", "e9 c5"], { limit: 3 });
    expect([idsOf(first), first.next?.id]).to.deep.equal(["d e b", "b"]);
    expect(first.same).to.deep.equal([true, true]);
    const { same } = await page(["", "", ""], { after: { id: "x", score: "9" } });
    expect(same).to.deep.equal([false, false, true]);
    expect((await page([""], { after: { id: "x", score: "9" } })).same).to.deep.equal([false]);
  });

  it("shows of all partitions together as many as are kept of a queue", async () => {
    const before = [SHARED.maxFinished - 2, 1];
    const seen = await page(["d9 b5", "e9 c5"], { before });
    expect([idsOf(seen), seen.next]).to.deep.equal(["d", null]);
    expect(idsOf(await page(["d9"], { before: [SHARED.maxFinished + 1] }))).to.equal("");
  });
});
