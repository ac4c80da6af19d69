import { expect } from "chai";
import { type OutputFeed, OutputFeeds } from "../../../src/engine/watch/output.ts";
import type { OutputValue } from "../../../src/store/task/attempt.ts";
import type { Lease } from "../../../src/store/task/lease.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const MB = 1_048_576;

describe("the output of a task", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  const start = async (id = "a"): Promise<Lease> => {
    await t.submit({ id });
    return take();
  };
  const take = async (): Promise<Lease> => {
    const [task] = await t.reserve();
    if (!task) throw new Error("nothing to take");
    return { queue: "jobs", id: task.id, fence: task.fence };
  };
  const write = (lease: Lease, values: readonly unknown[], options = {}) =>
    t.engine.outputs.write(
      lease,
      values.map((value) => JSON.stringify(value)),
      { maxBytes: MB, ...options },
    );
  const read = async (id = "a", from = 0): Promise<readonly OutputValue[]> =>
    (await t.engine.outputs.read({ id, queue: "jobs" }, from)).values;
  const key = (id = "a") => storedKey(t.keys.tag(t.keys.partitionOf(id)), "output", id);

  it("is kept in order, as the JSON that was written", async () => {
    t = await openEngine();
    const lease = await start();
    expect(await write(lease, ["one", { n: 2 }])).to.equal(2);
    expect(await write(lease, [null, "ü\n"])).to.equal(2);
    expect(await read()).to.deep.equal(
      ['"one"', '{"n":2}', "null", '"ü\\n"'].map((json) => ({ run: 1, attempt: 1, json })),
    );
    expect((await read("a", 3)).map(({ json }) => json)).to.deep.equal(['"ü\\n"']);
    expect(await t.engine.outputs.read({ id: "a", queue: "jobs" }, 4)).to.deep.equal({ total: 4, values: [] });
    expect(await t.engine.outputs.read({ id: "unheard-of", queue: "jobs" }, 0)).to.deep.equal({ total: 0, values: [] });
  });

  it("has a maximum size: values that do not fit are refused, others are kept", async () => {
    t = await openEngine();
    const lease = await start();
    const maxBytes = 10;
    expect(await write(lease, ["üü", "more"], { maxBytes })).to.equal(1);
    expect(await write(lease, ["ab"], { maxBytes })).to.equal(1);
    expect(await write(lease, [1], { maxBytes })).to.equal(0);
    expect((await read()).map(({ json }) => json)).to.deep.equal(['"üü"', '"ab"']);
  });

  it("is stored once, however often a call is sent again, also after other calls and after the end", async () => {
    t = await openEngine();
    const lease = await start();
    for (const call of ["1a", "1b", "1a", "1c", "1a", "1b"]) {
      expect(await write(lease, [call], { call })).to.equal(1);
    }
    await t.engine.leases.complete(lease, resultOf("done"), t.settings);
    expect(await write(lease, ["1c"], { call: "1c" })).to.equal(1);
    expect((await read()).map(({ json }) => json)).to.deep.equal(['"1a"', '"1b"', '"1c"']);
  });

  it("is read in pages, with no more values than needed", async () => {
    t = await openEngine({ partitions: 3 });
    await t.submit({ id: "a" });
    const { tasks } = await t.engine.leases.reserve({
      ...{ queue: "jobs", worker: "w1", reservation: "r", count: 1, leaseMs: 60_000, rate: undefined },
    });
    const lease = { queue: "jobs", id: "a", fence: tasks[0]?.fence ?? "" };
    for (let n = 0; n < 20; n += 1) await write(lease, [`${"x".repeat(20_000)}${n}`, n]);
    const seen: OutputValue[] = [];
    for (let total = 1; seen.length < total; ) {
      const page = await t.engine.outputs.read({ id: "a", queue: "jobs" }, seen.length);
      expect(page.values.length).to.be.within(1, 10);
      seen.push(...page.values);
      total = page.total;
    }
    expect(seen.flatMap(({ json }, n) => (n % 2 === 0 ? [] : [Number(json)]))).to.deep.equal([...Array(20).keys()]);
  });

  it("adds no field to a task that writes nothing", async () => {
    t = await openEngine();
    await t.engine.leases.complete(await start(), resultOf("done"), t.settings);
    expect(
      await t.redis.hmget(storedKey(t.keys.tag(0), "task", "a"), TASK.output, TASK.restarts, TASK.extra),
    ).to.deep.equal([null, null, null]);
    expect(await t.redis.exists(key())).to.equal(0);
  });
});

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
