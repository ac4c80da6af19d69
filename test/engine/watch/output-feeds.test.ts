import { expect } from "chai";
import { type OutputFeed, OutputFeeds } from "../../../src/engine/watch/output-feeds.ts";
import { eventually } from "../../shared/eventually.ts";

type Parts = ConstructorParameters<typeof OutputFeeds>[0];

const MIB = 1024 ** 2;

/** Outputs of tasks, as many values as are stored of each, without a store. */
function stubbed() {
  const stored = new Map<string, string[]>();
  const reads: string[] = [];
  const outputs: Parts = {
    read: async ({ id }, from) => {
      reads.push(`${id} ${from}`);
      const values = stored.get(id) ?? [];
      return {
        total: values.length,
        values: values.slice(from, from + 100).map((json) => ({ run: 1, attempt: 2, json })),
      };
    },
  };
  const store = (id: string, ...jsons: string[]) => stored.set(id, [...(stored.get(id) ?? []), ...jsons]);
  return { outputs, stored, store, reads, feeds: new OutputFeeds(outputs) };
}

/** What readers of a feed see from a number on, as of some news. */
const valuesOf = async (feed: OutputFeed, from: number, news = 1) => [...(await feed.page(from, news)).values];

describe("the feeds of outputs", () => {
  it("read values once for ten thousand readers of a task, and keep nothing when they have left", async () => {
    const { feeds, store, reads } = stubbed();
    store("a", ...Array.from({ length: 500 }, (_, n) => String(n)));
    const readers = Array.from({ length: 10_000 }, () => feeds.open({ id: "a", queue: "jobs" }));
    expect(feeds.size).to.equal(1);
    const texts = await Promise.all(
      readers.map(async (feed) => {
        const seen: string[] = [];
        for (let page = await valuesOf(feed, 0); page.length > 0; page = await valuesOf(feed, seen.length))
          seen.push(...page);
        return seen.at(-1);
      }),
    );
    expect(new Set(texts)).to.deep.equal(new Set(['{"seq":499,"run":1,"attempt":2,"data":499}']));
    expect(reads.length).to.be.below(20);
    const [first, ...others] = readers;
    for (const feed of others) feed.leave();
    expect(feeds.size).to.equal(1);
    first?.leave();
    expect(feeds.size).to.equal(0);
  });

  it("do not read again what there is not, until there are news", async () => {
    const { feeds, store, reads } = stubbed();
    const feed = feeds.open({ id: "a", queue: "jobs" });
    expect(await valuesOf(feed, 0)).to.deep.equal([]);
    store("a", '"one"');
    expect(await valuesOf(feed, 0)).to.deep.equal([]);
    expect(reads).to.deep.equal(["a 0"]);
    expect(await valuesOf(feed, 0, 2)).to.have.length(1);
    expect(reads).to.deep.equal(["a 0", "a 0"]);
  });

  it("do not share a read that has begun before the news", async () => {
    const { outputs, feeds, store } = stubbed();
    const { read } = outputs;
    const pending: (() => void)[] = [];
    outputs.read = async (...args) => {
      const part = await read(...args);
      await new Promise<void>((resolve) => pending.push(resolve));
      return part;
    };
    const feed = feeds.open({ id: "b", queue: "jobs" });
    const early = valuesOf(feed, 0);
    await eventually(() => pending.length > 0);
    store("b", "1");
    const late = [valuesOf(feed, 0, 2), valuesOf(feed, 0, 2)];
    await eventually(() => pending.length > 1);
    // The later one is answered first.
    for (const go of pending.reverse()) go();
    expect((await Promise.all(late)).map((values) => values.length)).to.deep.equal([1, 1]);
    expect(await early).to.deep.equal([]);
    expect(await valuesOf(feed, 0, 2)).to.have.length(1);
    expect(pending).to.have.length(2);
  });

  it("keep the page that was read last, for readers who are at its beginning or within it", async () => {
    const { feeds, store, reads } = stubbed();
    const feed = feeds.open({ id: "a", queue: "jobs" });
    store("a", '"zero"', '"one"', '"two"');
    const whole = await valuesOf(feed, 0);
    expect(whole.map((json) => JSON.parse(json))).to.deep.equal(
      ["zero", "one", "two"].map((data, seq) => ({ seq, run: 1, attempt: 2, data })),
    );
    const within = await feed.page(1, 1);
    expect([within.from, within.values]).to.deep.equal([1, whole.slice(1)]);
    expect(within.length).to.equal(whole.slice(1).join("").length);
    expect(await valuesOf(feed, 0)).to.deep.equal(whole);
    expect(reads).to.deep.equal(["a 0"]);
    store("a", '"three"');
    expect(await valuesOf(feed, 3, 2)).to.have.length(1);
    expect(await valuesOf(feed, 0, 2)).to.have.length(4);
    expect(reads).to.deep.equal(["a 0", "a 3", "a 0"]);
  });

  it("keep only so much over all tasks, and drop what was read longest ago", async () => {
    const { feeds, store, reads } = stubbed();
    const ids = ["a", "b", "c"];
    for (const id of ids) store(id, `"${"x".repeat(7 * MIB)}"`);
    const [a, b, c] = ids.map((id) => feeds.open({ id, queue: "jobs" }));
    const read = async (...of: readonly (OutputFeed | undefined)[]) => {
      reads.length = 0;
      for (const feed of of) await feed?.page(0, 1);
      return reads.join(", ");
    };
    expect(await read(a, b, a, b)).to.equal("a 0, b 0");
    expect(await read(c, b, c)).to.equal("c 0");
    expect(await read(a)).to.equal("a 0");
    expect(await read(c, a)).to.equal("");
    // What nobody reads any more makes room.
    c?.leave();
    expect(await read(b, a, b)).to.equal("b 0");
  });

  it("make a text of a page once for all readers who want the same", async () => {
    const { feeds, store } = stubbed();
    store("a", "1", "2");
    const page = await feeds.open({ id: "a", queue: "jobs" }).page(0, 1);
    let made = 0;
    const make = (values: readonly string[], from: number) => {
      made += 1;
      return `${from} ${values.length}`;
    };
    expect([page.textOf("lines", make), page.textOf("lines", make)]).to.deep.equal(["0 2", "0 2"]);
    expect(made).to.equal(1);
    expect(page.textOf("events", () => "others")).to.equal("others");
  });

  it("begin anew if there are fewer values than before, since another task has the id now", async () => {
    const { feeds, store, stored } = stubbed();
    const feed = feeds.open({ id: "a", queue: "jobs" });
    store("a", "1", "2", "3");
    expect((await feed.read(3, 1)).total).to.equal(3);
    stored.set("a", ["7"]);
    expect((await feed.read(3, 2)).total).to.equal(1);
    expect(await valuesOf(feed, 0, 2)).to.have.length(1);
  });
});
