import { expect } from "chai";
import type { Eta } from "../../../src/wire/task.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { QUEUE } from "../../helpers/store/stored.ts";
import { randomOf } from "../../shared/random.ts";
import { START_TIMES, StartStatistics } from "../../shared/start-simulation.ts";

const S = 1000;
const TTL_MS = 60 * S;
const SLOTS = new Map([["jobs", 2]]);

/** What tests need of an engine in which only time passes. */
function acting(t: TestEngine) {
  let tasks = 0;
  return {
    t,
    /** As if so much time had passed since work came in and the last worker left. */
    pass: async (ms: number, tag = t.keys.tag(0)) => {
      const key = `${tag}${t.key("queue").slice(t.keys.tag(0).length)}`;
      for (const field of [QUEUE.needed, QUEUE.liveUntil]) {
        if (await t.redis.hexists(key, field)) await t.redis.hincrby(key, field, -Math.round(ms));
      }
    },
    begin: (worker = "w1", slots = SLOTS) => t.engine.workers.heartbeat(worker, TTL_MS, slots),
    leave: (worker = "w1") => t.engine.workers.heartbeat(worker, 0, SLOTS),
    /** Submits a task; returns its id. */
    work: async () => {
      tasks += 1;
      await t.submit({ id: `w${tasks}` });
      return `w${tasks}`;
    },
    eta: async (id: string): Promise<Eta | null> => (await t.look(id)).eta,
    /** Runs all that waits. */
    finish: async () => {
      for (const { id, fence } of await t.reserve(50)) {
        await t.engine.leases.complete({ id, fence, queue: "jobs" }, resultOf("done"), t.settings);
      }
    },
    /** Mean, variance and number of the starts so far. */
    learned: async () => {
      const [mean = 0, variance = 0, samples = 0] = ((await t.redis.hget(t.key("queue"), QUEUE.warmup)) ?? "")
        .split(" ")
        .map(Number);
      return { mean, variance, samples };
    },
  };
}
type Acting = ReturnType<typeof acting>;

/** A start that takes so long: work comes in, a worker begins, runs it and leaves. */
async function start({ pass, begin, leave, work, finish }: Acting, ms: number): Promise<void> {
  await work();
  await pass(ms);
  await begin();
  await finish();
  await leave();
}

describe("how long a worker takes to start", () => {
  let t: TestEngine;
  let of: Acting;
  let opened: TestEngine[] = [];
  const open = async (options: Parameters<typeof openEngine>[0] = {}) => {
    t = await openEngine(options);
    opened.push(t);
    of = acting(t);
  };
  beforeEach(() => open());
  afterEach(async () => {
    for (const engine of opened) await engine.close();
    opened = [];
  });

  it("is not known before a start, unless the handler declares it", async () => {
    expect(await of.eta(await of.work())).to.equal(null);
    await open({ settings: { warmupMs: 70 * S, concurrency: 3 } });
    await t.engine.upkeep.tick(0);
    const id = await of.work();
    const declared = await of.eta(id);
    expect(declared).to.include({ basis: "starting", samples: 0 });
    // The start counts from the submission, which is some ms ago.
    expect(declared?.seconds).to.be.within(69, 70);
    await of.pass(30 * S);
    expect((await of.eta(id))?.seconds).to.be.within(35, 55);
    await of.work();
    expect(await of.eta(await of.work()), "the third slot").to.deep.include({ basis: "starting" });
    expect(await of.eta(await of.work()), "no slot, and no history").to.equal(null);
  });

  it("is told with the answer to the submission, and of the queue as of a newcomer", async () => {
    await open({ settings: { warmupMs: 70 * S } });
    await t.engine.upkeep.tick(0);
    const [row] = await t.engine.queues.figures(["jobs"]);
    expect(row?.snapshot.starting).to.include({ elapsedMs: 0, declaredMs: 70 * S, slots: t.settings.concurrency });
    const { snapshot } = await t.submit();
    expect(snapshot.starting).to.include({ elapsedMs: 0, declaredMs: 70 * S });
  });

  it("is no longer declared once a process with the handler no longer does", async () => {
    await open({ settings: { warmupMs: 70 * S } });
    await t.engine.upkeep.tick(0);
    const other = await openEngine({ prefix: t.keys.prefix });
    await other.engine.upkeep.tick(0);
    expect(await of.eta(await of.work())).to.equal(null);
    await other.close();
  });

  it("is learned from the starts, as in the simulation", async () => {
    const known = new StartStatistics();
    for (const ms of [40 * S, 50 * S, 70 * S, 30 * S]) {
      await start(of, ms);
      known.add(ms);
    }
    const { mean, variance, samples } = await of.learned();
    expect(samples).to.equal(4);
    // Some real milliseconds pass as well.
    expect(mean).to.be.closeTo(known.mean, 500);
    expect(Math.sqrt(variance)).to.be.closeTo(Math.sqrt(known.variance), 500);
    const eta = await of.eta(await of.work());
    expect(eta).to.include({ basis: "starting", samples: 4 });
    expect(eta?.seconds).to.be.within(40, 50);
  });

  it("contains the true start in 70 to 90 % of 20 starts, three times over", async function () {
    this.timeout(60 * S);
    const within: number[] = [];
    for (const seed of [1, 2, 3]) {
      await open();
      const random = randomOf(seed);
      for (let n = 0; n < 5; n += 1) await start(of, START_TIMES.usual(random));
      let inside = 0;
      for (let n = 0; n < 20; n += 1) {
        const tookMs = START_TIMES.usual(random);
        const { low, high } = (await of.eta(await of.work())) ?? { low: 0, high: 0 };
        if (tookMs >= low * 1000 && tookMs <= high * 1000) inside += 1;
        await of.pass(tookMs);
        await of.begin();
        await of.finish();
        await of.leave();
      }
      within.push(inside);
    }
    expect(within.reduce((sum, count) => sum + count, 0) / 60, `${within} of 20`).to.be.within(0.7, 0.9);
  });

  it("no longer matters once a worker is there, even if that takes nothing", async () => {
    await start(of, 40 * S);
    const id = await of.work();
    await of.begin();
    expect(await of.eta(id)).to.include({ basis: "idle", seconds: 0 });
    await t.engine.queues.pause("jobs", true);
    expect(await of.eta(id)).to.equal(null);
  });

  it("is not learned while the queue is paused; the need begins when it is resumed", async () => {
    await start(of, 40 * S);
    await t.engine.queues.pause("jobs", true);
    const id = await of.work();
    await of.pass(1000 * S);
    expect(await of.eta(id)).to.equal(null);
    await of.begin();
    await of.leave();
    expect((await of.learned()).samples).to.equal(1);
    await of.pass(1000 * S);
    await t.engine.queues.pause("jobs", false);
    expect((await of.eta(id))?.seconds).to.be.within(35, 45);
  });

  it("counts from when the last worker died, if work was left", async () => {
    await start(of, 40 * S);
    await of.begin();
    const id = await of.work();
    expect((await of.eta(id))?.basis).to.equal("idle");
    // Its last heartbeat was valid until a second ago.
    await of.pass(TTL_MS + S);
    const eta = await of.eta(id);
    expect(eta?.basis).to.equal("starting");
    expect(eta?.seconds).to.be.within(34, 44);
    await of.pass(9 * S);
    await of.begin("w2");
    const { mean, samples } = await of.learned();
    expect(samples).to.equal(2);
    expect(mean).to.be.within(24 * S, 27 * S);
  });

  it("is not learned from a worker that was only late, nor from the same heartbeat twice", async () => {
    await start(of, 40 * S);
    await of.begin();
    await of.work();
    await of.pass(TTL_MS + S);
    await of.begin();
    await of.begin();
    expect((await of.learned()).samples).to.equal(1);
  });

  it("is not learned if no work was there", async () => {
    await of.begin();
    await of.leave();
    const id = await of.work();
    await t.engine.call("cancel", { id, queue: "jobs" });
    await of.pass(20 * S);
    await of.begin();
    expect((await of.learned()).samples).to.equal(0);
  });

  it("is not ruined by days without a worker, nor by an outage; after an hour nothing is promised", async () => {
    for (let n = 0; n < 3; n += 1) await start(of, 40 * S);
    const id = await of.work();
    await of.pass(3000 * S);
    expect((await of.eta(id))?.seconds).to.be.above(100);
    await of.begin();
    await of.finish();
    await of.leave();
    expect((await of.learned()).mean).to.be.within(70 * S, 72 * S);
    const later = await of.work();
    await of.pass(3 * 86_400 * S);
    expect(await of.eta(later)).to.equal(null);
    await of.begin();
    expect((await of.learned()).samples).to.equal(4);
  });

  it("does not turn negative when the clock is set back", async () => {
    await start(of, 40 * S);
    const id = await of.work();
    await of.pass(-5000 * S);
    await t.redis.hset(t.key("queue"), QUEUE.liveUntil, "0");
    expect((await of.eta(id))?.seconds).to.be.within(35, 45);
    await of.begin();
    expect(await of.learned()).to.deep.include({ samples: 1 });
  });

  it("counts anew after the line was empty", async () => {
    await start(of, 40 * S);
    const first = await of.work();
    await of.pass(30 * S);
    expect((await of.eta(await of.work()))?.seconds, "the line was not empty").to.be.below(30);
    for (const id of [first, "w3"]) await t.engine.call("cancel", { id, queue: "jobs" });
    expect((await of.eta(await of.work()))?.seconds).to.be.within(35, 45);
  });

  it("counts from when a scheduled or a dead task joins the line", async () => {
    await start(of, 40 * S);
    await t.submit({ id: "later", delayMs: 3600 * S });
    await of.pass(2000 * S);
    await t.makeDue("later");
    await t.engine.upkeep.tick(0);
    expect((await of.eta("later"))?.seconds).to.be.within(35, 45);
    const [task] = await t.reserve(1);
    if (task)
      await t.engine.leases.fail({ ...task, queue: "jobs" }, failureOf("retry"), { ...t.settings, attempts: 1 });
    await of.pass(2000 * S);
    expect((await t.look("later")).state).to.equal("failed");
    await t.engine.deadLetters.retryAll("jobs");
    expect((await of.eta("later"))?.seconds).to.be.within(35, 45);
  });

  it("is that of each queue: a worker for another one does not help", async () => {
    await start(of, 40 * S);
    const id = await of.work();
    await of.begin("other", new Map([["others", 4]]));
    expect((await of.eta(id))?.basis).to.equal("starting");
  });

  it("is known to a process without the handler", async () => {
    await open({ settings: { warmupMs: 70 * S } });
    await t.engine.upkeep.tick(0);
    const id = await of.work();
    const other = await openEngine({ prefix: t.keys.prefix, queues: [] });
    expect((await acting(other).eta(id))?.seconds).to.be.within(69, 70);
    await other.close();
  });
});
