import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { Batch } from "../../../src/engine/calls/batch.ts";

describe("a batch", () => {
  let sent: number[][];
  let batch: Batch<number, string>;
  beforeEach(() => {
    sent = [];
    batch = new Batch({
      send: async (_, items) => {
        sent.push([...items]);
        return items.map((item) => `sent ${item}`);
      },
    });
  });

  /** A call of another kind, to be answered later. */
  const call = () => {
    const { promise, resolve, reject } = withResolvers<void>();
    let taken: readonly number[] = [];
    const answer = batch.sendWith(
      0,
      async (items) => {
        taken = items;
        await promise;
        return { verdicts: items.map((item) => `carried ${item}`) };
      },
      () => undefined,
    );
    return { answer, resolve, reject, taken: () => taken };
  };

  function withResolvers<T>() {
    let resolve: (value: T) => void = () => undefined;
    let reject: (error: Error) => void = () => undefined;
    const promise = new Promise<T>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    return { promise, resolve, reject };
  }

  it("sends the calls of one turn together, at most a hundred at a time", async () => {
    const verdicts = await Promise.all(Array.from({ length: 150 }, (_, n) => batch.add(0, n)));
    expect(verdicts[149]).to.equal("sent 149");
    // The first go early: the store has nothing else to do.
    expect(sent.map((items) => items.length)).to.deep.equal([32, 100, 18]);
  });

  it("delivers the verdicts of several items together, in order, even if they need several calls and some fail", async () => {
    expect(await batch.addAll(0, [])).to.deep.equal([]);
    const failing = new Batch<number, number>({
      send: async (_, items) => {
        if (items.includes(120)) throw new Error("no store");
        return items;
      },
    });
    const ends = await failing.addAll(
      0,
      Array.from({ length: 150 }, (_, n) => n),
    );
    expect(ends.map((end) => (end.status === "fulfilled" ? end.value : null))).to.deep.equal(
      Array.from({ length: 150 }, (_, n) => (n < 100 ? n : null)),
    );
    expect(await failing.addAll(1, [7])).to.deep.equal([{ status: "fulfilled", value: 7 }]);
  });

  it("requests at most 25 queues in one call", async () => {
    const calls: number[] = [];
    const wide = new Batch<number, number>({
      queueOf: (item) => `q${item % 40}`,
      send: async (_, items) => {
        calls.push(new Set(items.map((item) => item % 40)).size);
        return items;
      },
    });
    await Promise.all(Array.from({ length: 80 }, (_, n) => wide.add(0, n)));
    expect(Math.max(...calls)).to.equal(25);
  });

  it("sends fewer items in one call if each is more work", async () => {
    const calls: number[][] = [];
    const heavy = new Batch<number, number>({
      workOf: (item) => item,
      send: async (_, items) => {
        calls.push([...items]);
        return items;
      },
    });
    await Promise.all([60, 40, 1, 300, 0.5].map((item) => heavy.add(0, item)));
    expect(calls).to.deep.equal([[60, 40], [1], [300], [0.5]]);
  });

  it("sends at most 4 MB in one call, but at least one item", async () => {
    const calls: number[][] = [];
    const MB = 1024 ** 2;
    const wide = new Batch<number, number>({
      sizeOf: (megabytes) => megabytes * MB,
      send: async (_, items) => {
        calls.push([...items]);
        return items;
      },
    });
    await Promise.all([1, 3, 1, 9, 2].map((item) => wide.add(0, item)));
    expect(calls).to.deep.equal([[1, 3], [1], [9], [2]]);
  });

  it("fails the calls that got no verdict, or whose call could not even be made", async () => {
    const short = new Batch<number, string>({ send: async (_, items) => items.slice(1).map(String) });
    const ends = await short.addAll(0, [1, 2, 3]);
    expect(ends.map(({ status }) => status)).to.deep.equal(["fulfilled", "fulfilled", "rejected"]);
    const broken = new Batch<number, string>({
      send: () => {
        throw new Error("a mistake");
      },
    });
    expect(await broken.add(0, 1).catch((error: Error) => error.message)).to.equal("a mistake");
  });

  it("lets a call of another kind carry no more than fits in one call", async () => {
    const verdicts = Promise.all(Array.from({ length: 31 }, (_, n) => batch.add(0, n)));
    const first = call();
    const late = Array.from({ length: 120 }, (_, n) => batch.add(0, 1000 + n));
    const second = call();
    expect([first.taken().length, second.taken().length]).to.deep.equal([31, 100]);
    first.resolve();
    second.resolve();
    expect((await verdicts)[30]).to.equal("carried 30");
    const ends = await Promise.all(late);
    expect([ends[99], ends[100], ends[119]]).to.deep.equal(["carried 1099", "sent 1100", "sent 1119"]);
  });

  it("lets a call of another kind carry the gathered calls", async () => {
    const added = batch.add(0, 1);
    const carrier = call();
    expect(carrier.taken()).to.deep.equal([1]);
    carrier.resolve();
    expect(await added).to.equal("carried 1");
    expect(sent).to.deep.equal([]);
  });

  it("saves calls that are gathered during such a call for the next one", async () => {
    const first = call();
    const added = batch.add(0, 1);
    await turn();
    expect(sent).to.deep.equal([]);
    first.resolve();
    await first.answer;
    const second = call();
    expect(second.taken()).to.deep.equal([1]);
    second.resolve();
    expect(await added).to.equal("carried 1");
  });

  it("sends gathered calls if no call follows, also after one that failed", async () => {
    const fine = call();
    const one = batch.add(0, 1);
    fine.resolve();
    expect(await one).to.equal("sent 1");
    const failed = call();
    const two = batch.add(0, 2);
    failed.reject(new Error("away"));
    expect(await failed.answer.catch((error: Error) => error.message)).to.equal("away");
    expect(await two).to.equal("sent 2");
  });

  it("fails the calls that were carried by a call that failed", async () => {
    const added = batch.add(0, 1).catch((error: Error) => error.message);
    const carrier = call();
    carrier.reject(new Error("away"));
    expect(await added).to.equal("away");
    await carrier.answer.catch(() => undefined);
  });

  it("sends nothing early while the store works on calls to any partition", async () => {
    const carrier = call();
    const verdicts = Promise.all(Array.from({ length: 50 }, (_, n) => batch.add(1, n)));
    expect(sent).to.deep.equal([]);
    await verdicts;
    expect(sent.map((items) => items.length)).to.deep.equal([50]);
    carrier.resolve();
    await carrier.answer;
  });

  it("does not delay the other partitions, nor do these send what is saved for the next call", async () => {
    const carrier = call();
    const saved = batch.add(0, 1);
    expect(await batch.add(1, 7)).to.equal("sent 7");
    expect(sent).to.deep.equal([[7]]);
    carrier.resolve();
    await carrier.answer;
    expect(await saved).to.equal("sent 1");
  });
});
