import { expect } from "chai";
import type { Engine } from "../../src/engine/engine.ts";
import { createLog } from "../../src/log.ts";
import { Heartbeat } from "../../src/workers/heartbeat.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";

describe("the heartbeat of a worker", () => {
  let time: FakeTime;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(() => time.end());

  const SLOTS = new Map([["jobs", 4]]);

  /** What it sends; each `nth` may fail, or be answered with `quiet`. */
  const open = (parts: { fails?: (nth: number) => boolean; quiet?: (nth: number) => boolean } = {}) => {
    const sent: { readonly ttlMs: number; readonly again?: boolean; readonly quiet?: boolean }[] = [];
    const beats: boolean[] = [];
    const heartbeat = async (
      worker: string,
      ttlMs: number,
      slots: unknown,
      options?: { readonly again: boolean; readonly quiet: boolean },
    ) => {
      expect([worker, slots]).to.deep.equal(["worker-1", SLOTS]);
      sent.push({ ttlMs, ...(options && { again: options.again, quiet: options.quiet }) });
      if (parts.fails?.(sent.length)) throw new Error("refused");
      return { quiet: parts.quiet?.(sent.length) === true, concurrency: new Map<string, number>() };
    };
    const beating = new Heartbeat(
      { workers: { heartbeat } } as unknown as Engine,
      {
        ...{ worker: "worker-1", about: {} as never, slots: () => SLOTS, batches: new Map() },
        onBeat: ({ quiet }) => beats.push(quiet) === 0,
      },
      createLog("silent"),
    );
    return { beating, sent, beats };
  };

  it("comes every few seconds, and is valid for longer than that", async () => {
    const { beating, sent, beats } = open();
    void beating.start();
    await time.pass(60_000);
    await beating.stop();
    const [first, ...others] = sent.slice(0, -1);
    expect(first?.again, "the first one says everything").to.equal(false);
    expect(others.every(({ again }) => again === true)).to.equal(true);
    expect(Number(first?.ttlMs)).to.be.above((2 * 60_000) / beats.length);
    expect(beats).to.have.length(sent.length - 1);
    expect(sent.at(-1), "at the end").to.deep.equal({ ttlMs: 0 });
  });

  it("says that the worker is quiet once it was told so, until it is told otherwise", async () => {
    const { beating, sent } = open({ quiet: (nth) => nth < 4, fails: (nth) => nth === 2 });
    void beating.start();
    await time.pass(40_000);
    await beating.stop();
    expect(sent.slice(0, 6).map(({ quiet }) => quiet)).to.deep.equal([false, true, true, true, false, false]);
  });

  it("comes again soon after one that failed, and says everything again", async () => {
    const { beating, sent, beats } = open({ fails: (nth) => nth === 1 });
    void beating.start();
    await time.pass(7000);
    expect(sent.map(({ again }) => again)).to.deep.equal([false, false]);
    expect(beats).to.have.length(1);
    await time.pass(15_000);
    expect(sent[2]?.again).to.equal(true);
    await beating.stop();
  });

  it("can fail at the end too", async () => {
    const { beating, sent } = open({ fails: () => true });
    await beating.stop();
    expect(sent).to.have.length(1);
  });
});
