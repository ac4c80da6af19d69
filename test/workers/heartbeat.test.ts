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

  /** One whose worker has work or not; returns what it sends. */
  const open = (parts: { idle: boolean; fails?: (nth: number) => boolean }) => {
    const sent: { readonly ttlMs: number; readonly again: boolean | undefined }[] = [];
    const beats: number[] = [];
    const heartbeat = async (worker: string, ttlMs: number, slots: unknown, options?: { readonly again: boolean }) => {
      expect([worker, slots]).to.deep.equal(["worker-1", SLOTS]);
      sent.push({ ttlMs, again: options?.again });
      if (parts.fails?.(sent.length)) throw new Error("refused");
      return { sinceLossMs: 7000, quiet: false, concurrency: new Map<string, number>() };
    };
    const beating = new Heartbeat(
      { workers: { heartbeat } } as unknown as Engine,
      {
        ...{ worker: "worker-1", about: {} as never, slots: () => SLOTS, batches: new Map() },
        ...{ isIdle: () => parts.idle, onBeat: ({ sinceLossMs }) => beats.push(sinceLossMs) === 0 },
      },
      createLog("silent"),
    );
    return { beating, sent, beats };
  };

  it("comes every few seconds while there is work, and less often while there is none; it is valid for longer than that", async () => {
    const counts: number[] = [];
    for (const idle of [false, true]) {
      const { beating, sent, beats } = open({ idle });
      void beating.start();
      await time.pass(60_000);
      await beating.stop();
      const [first, ...others] = sent.slice(0, -1);
      expect(first?.again, "the first one says everything").to.equal(false);
      expect(others.every(({ again }) => again === true)).to.equal(true);
      const count = others.length + 1;
      expect(Number(first?.ttlMs)).to.be.above((2 * 60_000) / count);
      expect(beats).to.deep.equal(Array(count).fill(7000));
      expect(sent.at(-1), "at the end").to.deep.equal({ ttlMs: 0, again: undefined });
      counts.push(count);
    }
    const [busy = 0, idle = 0] = counts;
    expect(busy).to.be.above(2 * idle);
  });

  it("comes again soon after one that failed, and says everything again", async () => {
    const { beating, sent, beats } = open({ idle: true, fails: (nth) => nth === 1 });
    void beating.start();
    await time.pass(6000);
    expect(sent.map(({ again }) => again)).to.deep.equal([false, false]);
    expect(beats).to.have.length(1);
    await time.pass(15_000);
    expect(sent[2]?.again).to.equal(true);
    await beating.stop();
  });

  it("can fail at the end too", async () => {
    const { beating, sent } = open({ idle: true, fails: () => true });
    await beating.stop();
    expect(sent).to.have.length(1);
  });
});
