import { mock } from "node:test";
import { expect } from "chai";
import { pino } from "pino";
import type { Engine } from "../../src/engine/engine.ts";
import type { TickReport } from "../../src/engine/upkeep/tick.ts";
import { createLog } from "../../src/log.ts";
import { Ticker } from "../../src/workers/ticker.ts";
import { deferred } from "../helpers/deferred.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";
import { randomOf } from "../shared/random.ts";

describe("the pauses between the ticks of a process", () => {
  let time: FakeTime;
  let ticker: Ticker;
  beforeEach(() => {
    time = fakeTime();
    // Pauses vary: with other numbers each time, none of a few might be a long one.
    mock.method(Math, "random", randomOf(1));
  });
  afterEach(async () => {
    await ticker.stop();
    mock.restoreAll();
    time.end();
  });

  interface Given {
    readonly partitions?: number;
    /** The report of each tick. */
    readonly tick?: (partition: number) => Partial<TickReport> | Promise<Partial<TickReport>>;
    readonly sample?: () => number;
    readonly pointers?: () => boolean;
  }
  /** Starts a ticker; returns when it did what. */
  const start = ({ partitions = 1, tick = () => ({}), sample = () => 60_000, pointers = () => false }: Given) => {
    const beganAt = performance.now();
    const seen = {
      ticks: [[], []] as number[][],
      paused: [] as number[],
      samples: [] as number[],
      pointers: [] as number[],
    };
    const atMs = () => Math.round(performance.now() - beganAt);
    const due = deferred<(partition: number, delayMs: number) => void>();
    let listening = 0;
    const engine = {
      keys: { partitions, tags: Array.from({ length: partitions }, (_, n) => `{${n}}`) },
      upkeep: {
        tick: async (partition: number, pausedMs: number) => {
          seen.ticks[partition]?.push(atMs());
          seen.paused.push(pausedMs);
          return { late: [], lost: [], held: false, shortestLeaseMs: 30_000, ...(await tick(partition)) };
        },
        sampleHistories: async () => {
          seen.samples.push(atMs());
          return sample();
        },
        checkPointers: async () => {
          seen.pointers.push(atMs());
          return pointers();
        },
        onDue: (listener: (partition: number, delayMs: number) => void) => {
          listening += 1;
          due.resolve(listener);
          return () => {
            listening -= 1;
          };
        },
      },
    };
    const logged: Record<string, unknown>[] = [];
    const log = createLog("info", { destination: { write: (line) => logged.push(JSON.parse(line)) } });
    ticker = new Ticker(engine as unknown as Engine, log);
    ticker.start();
    return { seen, logged, due: due.promise, listening: () => listening };
  };
  const gaps = (at: readonly number[] = []) => at.slice(1).map((ms, n) => ms - Number(at[n]));

  it("are a second while there are leases, and at most as long as the last tick says", async () => {
    const { seen } = start({
      partitions: 2,
      tick: (partition) => ({ held: true, nextMs: partition === 0 ? 100 : 5000 }),
    });
    await time.pass(5000);
    expect(Math.max(...gaps(seen.ticks[0]))).to.be.within(100, 130);
    for (const gap of gaps(seen.ticks[1])) expect(gap).to.be.within(799, 1230);
    expect(new Set(seen.paused)).to.deep.equal(new Set([0]));
  });

  it("are never quite nothing", async () => {
    const { seen } = start({ tick: () => ({ held: true, nextMs: 0 }) });
    await time.pass(1000);
    expect(seen.ticks[0]?.length).to.be.within(10, 200);
  });

  it("become longer when there have been no leases for a while, but shorter than a lease", async () => {
    for (const [shortestLeaseMs, longestMs] of [
      [30_000, 10_000],
      [4000, 2400],
    ] as const) {
      const { seen } = start({ tick: () => ({ shortestLeaseMs }) });
      await time.pass(9000);
      for (const gap of gaps(seen.ticks[0])) expect(gap).to.be.within(799, 1230);
      await time.pass(91_000);
      expect(Math.max(...gaps(seen.ticks[0]))).to.be.within(1.05 * longestMs, 1.2 * longestMs + 30);
      expect(Math.max(...seen.paused)).to.be.within(longestMs, 1.2 * longestMs + 1);
      await ticker.stop();
    }
  });

  it("are a second again after a lease, a loss or a failure, also in another partition", async () => {
    const reports: (() => Partial<TickReport>)[] = [
      () => ({ held: true }),
      () => ({ lost: [{}] as never }),
      () => {
        throw new Error("refused");
      },
    ];
    for (const report of reports) {
      let now: typeof report = () => ({});
      const { seen } = start({ partitions: 2, tick: (partition) => (partition === 0 ? now() : {}) });
      await time.pass(30_000);
      now = report;
      await time.pass(7000);
      const before = seen.ticks[0]?.length ?? 0;
      await time.pass(6000);
      expect(Number(seen.ticks[0]?.length) - before).to.be.at.least(4);
      expect(gaps(seen.ticks[1]).at(-1)).to.be.above(3900);
      await ticker.stop();
    }
  });

  it("end when something is due earlier, until it stops", async () => {
    const { seen, due, listening } = start({ tick: () => ({ held: true }) });
    const tell = await due;
    await time.pass(100);
    expect(seen.ticks[0]).to.have.length(1);
    tell(0, 100);
    tell(7, 100);
    await time.pass(150);
    expect(seen.ticks[0]).to.have.length(2);
    await ticker.stop();
    expect(listening()).to.equal(0);
    await time.pass(5000);
    expect(seen.ticks[0]).to.have.length(2);
  });

  it("begin with a line in the log for each task that the tick has ended or returned: an error if it is dead", async () => {
    const task = { id: "a", queue: "jobs" };
    const loss = { ...task, worker: "w", losses: 2 };
    const outcomes = ["dead", "canceled", "released", "returned"];
    const { logged } = start({
      tick: () => ({
        late: [
          { ...task, verdict: "canceled", reason: "deadline" },
          { ...task, verdict: "signaled", reason: "presence" },
        ] as never,
        lost: outcomes.map((outcome) => ({ ...loss, outcome })) as never,
      }),
    });
    await time.pass(100);
    const { info, warn, error } = pino.levels.values;
    const facts = logged.map(({ level, requestId, queue, worker, losses }) => [
      level,
      requestId,
      queue,
      worker,
      losses,
    ]);
    expect(facts).to.deep.equal([
      ...[info, info].map((level) => [level, "a", "jobs", undefined, undefined]),
      ...[error, warn, warn, warn].map((level) => [level, "a", "jobs", "w", 2]),
    ]);
    const texts = logged.map(({ msg }) => msg);
    expect(new Set(texts), "each says something else").to.have.property("size", texts.length);
  });

  it("begin with a warning if a round failed, with the partition and the reason", async () => {
    const fails = () => {
      throw new Error("refused");
    };
    const { logged } = start({ partitions: 2, tick: fails, sample: fails, pointers: fails });
    await time.pass(100);
    expect(logged.map(({ partition, reason }) => `${partition} ${reason}`).toSorted()).to.deep.equal([
      ...Array(3).fill("0 refused"),
      ...Array(3).fill("1 refused"),
    ]);
  });

  it("of samples follow the ends of their intervals", async () => {
    const { seen } = start({ sample: () => 500 });
    await time.pass(3000);
    for (const gap of gaps(seen.samples)) expect(gap).to.be.within(550, 600);
    expect(seen.samples.length).to.be.above(3);
  });

  it("of checks of pointers are long unless some are due; with one partition there are none", async () => {
    let left = 3;
    const { seen } = start({
      partitions: 2,
      pointers: () => {
        left -= 1;
        return left > 0;
      },
    });
    await time.pass(500);
    expect(seen.pointers).to.have.length(4);
    await time.pass(20_000);
    expect(seen.pointers).to.have.length(4);
    await time.pass(20_000);
    expect(seen.pointers.length).to.be.above(4);
    await ticker.stop();
    const alone = start({});
    await time.pass(1000);
    expect(alone.seen.pointers).to.deep.equal([]);
  });
});
