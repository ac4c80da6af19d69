import { expect } from "chai";
import type { NoticeListener } from "../../../src/engine/watching/notices.ts";
import { type OutputFeed, OutputFeeds } from "../../../src/engine/watching/output-feeds.ts";
import { eventually } from "../../shared/eventually.ts";

type Parts = ConstructorParameters<typeof OutputFeeds>[0];

const MIB = 1024 ** 2;
/** No pass comes after the first. */
const QUIET = { passMs: 60_000 };

/** Outputs of tasks, as many values as are stored of each, without a store. */
function outputs() {
  const stored = new Map<string, string[]>();
  const listeners = new Map<string, NoticeListener>();
  const reads: string[] = [];
  const engine = {
    outputs: {
      read: async ({ id }: { id: string }, from: number) => {
        reads.push(`${id} ${from}`);
        const values = stored.get(id) ?? [];
        return {
          total: values.length,
          values: values.slice(from, from + 100).map((json) => ({ run: 1, attempt: 2, json })),
        };
      },
    },
    notices: {
      listen: ({ id }: { id: string }, listener: NoticeListener) => {
        listeners.set(id, listener);
        return { ready: null, stop: () => listeners.delete(id) };
      },
    },
  } as unknown as Parts;
  const store = (id: string, ...jsons: string[]) => stored.set(id, [...(stored.get(id) ?? []), ...jsons]);
  const notice = (output: boolean) => ({ id: "a", ended: false, output, end: null });
  return { engine, stored, store, listeners, reads, notice };
}

/** What followers of a feed see from a number on. */
const valuesOf = async (feed: OutputFeed, from: number) => [...(await feed.page(from)).values];

describe("the feeds of outputs", () => {
  it("read values once for ten thousand followers of a task, and keep nothing when they have left", async () => {
    const { engine, store, reads, listeners } = outputs();
    store("a", ...Array.from({ length: 500 }, (_, n) => String(n)));
    const feeds = new OutputFeeds(engine, QUIET);
    const followers = Array.from({ length: 10_000 }, () => feeds.follow({ id: "a", queue: "jobs" }, () => undefined));
    expect(feeds.size).to.equal(1);
    const texts = await Promise.all(
      followers.map(async ({ feed }) => {
        await feed.refresh();
        const seen: string[] = [];
        while (seen.length < feed.total) seen.push(...(await feed.page(seen.length)).values);
        return seen.at(-1);
      }),
    );
    expect(new Set(texts)).to.deep.equal(new Set(['{"seq":499,"run":1,"attempt":2,"data":499}']));
    expect(reads.length).to.be.below(20);
    const [first, ...others] = followers;
    for (const { stop } of others) stop();
    for (const { stop } of others) stop();
    expect([feeds.size, listeners.size]).to.deep.equal([1, 1]);
    first?.stop();
    expect([feeds.size, listeners.size]).to.deep.equal([0, 0]);
  });

  it("wake every follower when a notice says that there may be more, and only if there is", async () => {
    const { engine, store, reads, listeners, notice } = outputs();
    const feeds = new OutputFeeds(engine, QUIET);
    const woken = [0, 0];
    const following = woken.map((_, n) =>
      feeds.follow({ id: "a", queue: "jobs" }, () => {
        woken[n] = (woken[n] ?? 0) + 1;
      }),
    );
    const { feed } = following[0] ?? {};
    store("a", '"one"');
    listeners.get("a")?.(notice(false));
    expect(reads, "of a notice about something else").to.deep.equal([]);
    listeners.get("a")?.(notice(true));
    await eventually(() => woken.every((times) => times === 1));
    // Notices may have been missed.
    store("a", '"two"');
    listeners.get("a")?.(null);
    await eventually(() => woken.every((times) => times === 2));
    await feed?.refresh();
    expect(woken).to.deep.equal([2, 2]);
    expect(feed?.total).to.equal(2);
    for (const { stop } of following) stop();
  });

  it("find what no notice has told, each output in one of three passes", async () => {
    const { engine, store, reads } = outputs();
    const feeds = new OutputFeeds(engine, { passMs: 5 });
    const ids = ["a", "b", "c", "d", "e", "f"];
    const woken = new Set<string>();
    const following = ids.map((id) => feeds.follow({ id, queue: "jobs" }, () => woken.add(id)));
    for (const id of ids) store(id, "1");
    await eventually(() => woken.size === ids.length);
    for (const { stop } of following) stop();
    const count = (id: string) => reads.filter((read) => read.startsWith(id)).length;
    // All of them were read as often, but perhaps for the passes of the last round.
    expect(Math.max(...ids.map(count)) - Math.min(...ids.map(count))).to.be.at.most(1);
    const before = reads.length;
    const again = feeds.follow({ id: "g", queue: "jobs" }, () => undefined);
    await eventually(() => reads.some((read) => read.startsWith("g")));
    again.stop();
    expect(reads.slice(before).every((read) => read.startsWith("g"))).to.equal(true);
  });

  it("report a read that failed, and repeat it in a later pass", async () => {
    const { engine, store } = outputs();
    const { read } = engine.outputs;
    let broken = true;
    engine.outputs.read = (...args) => (broken ? Promise.reject(new Error("away")) : read(...args));
    const errors: unknown[] = [];
    const feeds = new OutputFeeds(engine, { passMs: 5, onError: (error) => errors.push(error) });
    let woken = 0;
    const { feed, stop } = feeds.follow({ id: "a", queue: "jobs" }, () => {
      woken += 1;
    });
    store("a", "1");
    await eventually(() => errors.length > 0);
    expect(String(errors[0])).to.equal("Error: away");
    broken = false;
    await eventually(() => woken === 1);
    expect(await valuesOf(feed, 0)).to.have.length(1);
    stop();
  });

  it("keep the page that was read last, for followers who are at its beginning or within it", async () => {
    const { engine, store, reads } = outputs();
    const { feed, stop } = new OutputFeeds(engine, QUIET).follow({ id: "a", queue: "jobs" }, () => undefined);
    store("a", '"zero"', '"one"', '"two"');
    const whole = await valuesOf(feed, 0);
    expect(whole.map((json) => JSON.parse(json))).to.deep.equal(
      ["zero", "one", "two"].map((data, seq) => ({ seq, run: 1, attempt: 2, data })),
    );
    const within = await feed.page(1);
    expect([within.from, within.values]).to.deep.equal([1, whole.slice(1)]);
    expect(within.length).to.equal(whole.slice(1).join("").length);
    expect(await valuesOf(feed, 0)).to.deep.equal(whole);
    expect(reads).to.deep.equal(["a 0"]);
    // Behind its end there may be more by now.
    store("a", '"three"');
    expect(await valuesOf(feed, 3)).to.have.length(1);
    expect(await valuesOf(feed, 0)).to.have.length(4);
    expect(reads).to.deep.equal(["a 0", "a 3", "a 0"]);
    stop();
  });

  it("keep only so much over all tasks, and drop what was read longest ago", async () => {
    const { engine, store, reads } = outputs();
    const feeds = new OutputFeeds(engine, QUIET);
    const ids = ["a", "b", "c"];
    for (const id of ids) store(id, `"${"x".repeat(7 * MIB)}"`);
    const following = ids.map((id) => feeds.follow({ id, queue: "jobs" }, () => undefined));
    const [a, b, c] = following.map(({ feed }) => feed);
    const read = async (...of: readonly (OutputFeed | undefined)[]) => {
      reads.length = 0;
      for (const feed of of) await feed?.page(0);
      return reads.join(", ");
    };
    expect(await read(a, b, a, b)).to.equal("a 0, b 0");
    expect(await read(c, b, c)).to.equal("c 0");
    expect(await read(a)).to.equal("a 0");
    expect(await read(c, a)).to.equal("");
    // What is not followed any more makes room.
    following[2]?.stop();
    expect(await read(b, a, b)).to.equal("b 0");
    for (const { stop } of following) stop();
  });

  it("make a text of a page once for all followers who want the same", async () => {
    const { engine, store } = outputs();
    const { feed, stop } = new OutputFeeds(engine, QUIET).follow({ id: "a", queue: "jobs" }, () => undefined);
    store("a", "1", "2");
    const page = await feed.page(0);
    let made = 0;
    const make = (values: readonly string[], from: number) => {
      made += 1;
      return `${from} ${values.length}`;
    };
    expect([page.textOf("lines", make), page.textOf("lines", make)]).to.deep.equal(["0 2", "0 2"]);
    expect(made).to.equal(1);
    expect(page.textOf("events", () => "others")).to.equal("others");
    stop();
  });

  it("begin anew if there are fewer values than before, since another task has the id now", async () => {
    const { engine, store, stored } = outputs();
    const { feed, stop } = new OutputFeeds(engine, QUIET).follow({ id: "a", queue: "jobs" }, () => undefined);
    store("a", "1", "2", "3");
    await feed.refresh();
    expect(feed.total).to.equal(3);
    // A page within what is known does not make it less.
    await feed.page(1);
    expect(feed.total).to.equal(3);
    stored.set("a", ["7"]);
    await feed.refresh();
    expect(feed.total).to.equal(1);
    stop();
  });

  it("know after a check all that was stored before it was asked for, also while another is under way", async () => {
    const { engine, store } = outputs();
    const { read } = engine.outputs;
    const pending: (() => void)[] = [];
    engine.outputs.read = async (...args) => {
      const part = await read(...args);
      await new Promise<void>((resolve) => pending.push(resolve));
      return part;
    };
    const { feed, stop } = new OutputFeeds(engine, { passMs: 60_000 }).follow(
      { id: "b", queue: "jobs" },
      () => undefined,
    );
    const early = feed.refresh();
    await eventually(() => pending.length > 0);
    store("b", "1");
    const late = [feed.refresh(), feed.refresh()];
    pending.shift()?.();
    await early;
    expect(feed.total).to.equal(0);
    await eventually(() => pending.length > 0);
    pending.shift()?.();
    await Promise.all(late);
    expect([feed.total, pending.length]).to.deep.equal([1, 0]);
    stop();
  });
});
