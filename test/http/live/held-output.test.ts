import { expect } from "chai";
import { ByteBudget } from "../../../src/engine/calls/byte-budget.ts";
import type { OutputFeeds, OutputPage } from "../../../src/engine/watch/output.ts";
import { Watch } from "../../../src/engine/watch/watch.ts";
import { OutputReader } from "../../../src/http/live/task-output.ts";

const MIB = 1024 ** 2;

/** An output of this many values of this length. */
function outputOf(total: number, length: number): OutputFeeds {
  const page = (from: number): OutputPage => ({
    ...{ from, values: from < total ? ["x"] : [], length: from < total ? length : 0, total },
    textOf: () => "",
  });
  return {
    open: () => ({ read: async (from: number) => page(from), page, leave: () => undefined }),
  } as unknown as OutputFeeds;
}

describe("what a process holds of output for slow readers", () => {
  /** A reader that takes nothing until it is told to. */
  const slowReader = (held: ByteBudget, feeds: OutputFeeds) => {
    const watch = new Watch({ outputs: 1 }, {}, () => undefined);
    const onError = (error: unknown) => {
      throw error;
    };
    const task = { id: "a", queue: "jobs", caller: null, createdMs: 0 };
    const reader = new OutputReader({ feeds, held, onError }, watch, task, 0);
    const state = { sent: 0, ended: false };
    let resume: () => void = () => undefined;
    void (async () => {
      for await (const _ of reader.rest()) {
        state.sent += 1;
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
      }
      state.ended = true;
    })();
    const stop = () => {
      reader.stop();
      watch.stop();
    };
    return Object.assign(state, { resume: () => resume(), stop });
  };
  const turns = async () => {
    for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  it("is limited over all of them: further readers wait for their turn, and everyone gets everything", async () => {
    const held = new ByteBudget(4 * MIB);
    const output = outputOf(2, MIB);
    const readers = Array.from({ length: 100 }, () => slowReader(held, output));
    await turns();
    const holding = () => readers.filter(({ sent }) => sent > 0).length;
    expect(holding()).to.equal(4);
    // The first is gone, the second has taken its value: two others take their places.
    readers[0]?.stop();
    readers[1]?.resume();
    await turns();
    expect(holding()).to.equal(6);
    for (let n = 0; n < 200 && readers.slice(1).some(({ ended }) => !ended); n += 1) {
      for (const reader of readers.slice(1)) if (reader.sent > 0) reader.resume();
      await turns();
    }
    expect(readers.slice(1).map(({ sent, ended }) => `${sent} ${ended}`)).to.deep.equal(
      Array.from({ length: 99 }, () => "2 true"),
    );
  });

  it("does not delay short pages, nor a page that is longer than all the room", async () => {
    const held = new ByteBudget(MIB);
    const [long, longer] = [slowReader(held, outputOf(1, MIB)), slowReader(held, outputOf(1, 3 * MIB))];
    const short = slowReader(held, outputOf(1, 1000));
    await turns();
    expect([long.sent, longer.sent, short.sent]).to.deep.equal([1, 0, 1]);
    long.resume();
    await turns();
    expect(longer.sent).to.equal(1);
  });

  it("passes over a reader that has gone while it waited", async () => {
    const held = new ByteBudget(MIB);
    const [first, gone, last] = [0, 1, 2].map(() => slowReader(held, outputOf(1, MIB)));
    await turns();
    gone?.stop();
    first?.stop();
    await turns();
    expect([first?.sent, gone?.sent, last?.sent]).to.deep.equal([1, 0, 1]);
  });
});
