import { expect } from "chai";
import { Histories, type Span } from "../../../src/engine/monitoring/history.ts";
import { SHARED } from "../../../src/store/constants.ts";
import { RATE_LETTERS } from "../../../src/store/fields.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";

const BUCKETS = 7;
const WEEK_MS = 7 * 86_400_000;
const HOUR: Span = { intervals: 360, step: 1, afterS: 0 };

describe("the history of a queue", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  const key = (queue = "jobs") => storedKey(t.keys.tagOfQueue(queue), "history", queue);
  const samples = () => t.redis.lrange(key(), 0, -1);
  const interval = async () => Math.floor(Number((await t.redis.time())[0]) / 10);
  /** What a rate bucket holds. */
  const count = async (kind: keyof typeof RATE_LETTERS, bucket: number, n: number) => {
    const field = `${RATE_LETTERS[kind]}${bucket % BUCKETS}`;
    await t.redis.hset(t.key("queue"), field, bucket * 2 ** 24 + n);
  };
  /** Calls it again if an interval has ended meanwhile. */
  const within = async (work: (now: number) => Promise<void>) => {
    for (;;) {
      const now = await interval();
      await work(now);
      if ((await interval()) === now) return now;
      await t.redis.unlink(key());
    }
  };
  const sample = () => t.engine.histories.sample(0, ["jobs"]);
  /** What the samples of a queue are compared with. */
  const first = (at: number) => `${at} 0 0 0 0 0 0 0 0 - - - -`;

  it("has one sample of an interval, however many processes take it", async () => {
    t = await openEngine();
    for (let n = 0; n < 3; n += 1) await t.submit();
    await t.submit({ delayMs: 60_000 });
    await t.reserve();
    const now = await within(async (at) => {
      await count("accepted", at - 1, 4);
      const left = await Promise.all([sample(), sample(), sample()]);
      for (const ms of left) expect(ms).to.be.within(1, SHARED.bucketMs);
      await sample();
    });
    expect(await samples()).to.deep.equal([`${now - 1} 2 1 1 0 4 1 0 0 - - - -`, first(now - 2)]);
    expect(await t.redis.pttl(key())).to.be.within(1, 2 * WEEK_MS);
  });

  it("is added to by one process in each interval", async () => {
    t = await openEngine();
    const other = await openEngine({ prefix: t.keys.prefix });
    try {
      await t.submit();
      const now = await within(async () => {
        await t.redis.unlink(t.key("ticked"));
        await sample();
        await t.redis.unlink(key());
        await other.engine.histories.sample(0, ["jobs"]);
        expect(await samples()).to.deep.equal([]);
      });
      // The one that began has gone: the next interval is taken by another.
      await t.redis.hset(t.key("ticked"), "sampled", `${now - 1} gone`);
      await other.engine.histories.sample(0, ["jobs"]);
      expect(await samples()).to.have.length(2);
    } finally {
      await other.close();
    }
  });

  it("costs nothing as long as the queue is not used, and nothing more while it does not change", async () => {
    t = await openEngine();
    await sample();
    expect(await t.redis.exists(key())).to.equal(0);
    await t.submit();
    await within(sample as () => Promise<unknown> as () => Promise<void>);
    expect(await samples()).to.have.length(2);
    // As if it had been taken earlier.
    await t.redis.lset(key(), 0, `${(await interval()) - 4} 1 0 0 0 1 0 0 0 - - - -`);
    for (const bucket of Array.from({ length: BUCKETS }, (_, n) => n)) await t.redis.hdel(t.key("queue"), `a${bucket}`);
    await sample();
    expect(await samples()).to.have.length(2);
  });

  it("includes what happened in a queue that was found empty before and after", async () => {
    t = await openEngine();
    await sample();
    const now = await within(async (at) => {
      // As if the last sample were that of the interval before.
      const [, process = ""] = (await t.redis.hget(t.key("ticked"), "sampled"))?.split(" ") ?? [];
      await t.redis.hset(t.key("ticked"), "sampled", `${at - 1} ${process}`);
      await count("accepted", at - 1, 3);
      await count("finished", at - 1, 3);
      await sample();
    });
    expect((await samples()).map((line) => line.split(" ").slice(0, 9).join(" "))).to.deep.equal([
      `${now - 1} 0 0 0 0 3 3 3 0`,
      `${now - 2} 0 0 0 0 0 0 0 0`,
    ]);
  });

  it("counts what started, failed and went back, and has the times of what ended", async () => {
    t = await openEngine({ settings: { attempts: 2 } });
    for (const id of ["a", "b", "c", "d"]) await t.submit({ id });
    const [a, b, c, d] = await t.reserve(4);
    const lease = (task: typeof a) => ({ queue: "jobs", id: task?.id ?? "", fence: task?.fence ?? "" });
    await t.engine.leases.complete(lease(a), resultOf("a"), t.settings);
    await t.engine.leases.fail(lease(b), failureOf("retry", 60_000), t.settings);
    await t.engine.leases.fail(lease(c), failureOf("give-up"), t.settings);
    await t.engine.call("release", { ...lease(d) });
    const now = await interval();
    const counted = await t.redis.hgetall(t.key("queue"));
    const of = (kind: keyof typeof RATE_LETTERS) =>
      Object.entries(counted).reduce(
        (sum, [name, value]) => (name.match(`^${RATE_LETTERS[kind]}\\d$`) ? sum + (Number(value) % 2 ** 24) : sum),
        0,
      );
    expect([of("accepted"), of("finished"), of("failed"), of("returned")]).to.deep.equal([4, 2, 1, 2]);
    // The same in the interval before.
    await within(async (at) => {
      for (const [kind, n] of [
        ["accepted", 4],
        ["finished", 2],
        ["failed", 1],
        ["returned", 2],
      ] as const) {
        await count(kind, at - 1, n);
      }
      await sample();
    });
    const [line = ""] = await samples();
    const words = line.split(" ");
    expect(Number(words[0])).to.be.within(now - 1, now);
    expect(words.slice(1, 9)).to.deep.equal(["1", "0", "1", "0", "4", "4", "2", "1"]);
    for (const time of words.slice(9)) expect(Number(time)).to.be.within(0, 10_000);
  });

  it("has the wait of a scheduled task from when it was due", async () => {
    t = await openEngine();
    const hourMs = 3_600_000;
    await t.submit({ id: "a", delayMs: hourMs });
    await t.redis.hincrby(storedKey(t.keys.tag(0), "task", "a"), TASK.created, -hourMs);
    await t.makeDue("a");
    await t.engine.upkeep.tick(0);
    const [task] = await t.reserve();
    await t.engine.leases.complete({ queue: "jobs", id: "a", fence: task?.fence ?? "" }, resultOf("x"), t.settings);
    await within(async (at) => {
      await count("finished", at - 1, 1);
      await sample();
    });
    const [line = ""] = await samples();
    const [, , wait50, wait95] = line.split(" ").slice(9);
    for (const wait of [wait50, wait95]) expect(Number(wait)).to.be.within(0, hourMs / 2);
  });

  it("goes on although the record of an outcome is damaged", async () => {
    t = await openEngine();
    const ids = ["damaged", "whole"];
    for (const id of ids) await t.submit({ id });
    for (const { id, fence } of await t.reserve(2)) {
      await t.engine.leases.complete({ queue: "jobs", id, fence }, resultOf("x"), t.settings);
    }
    await t.redis.hset(storedKey(t.keys.tag(0), "task", "damaged"), TASK.created, "yesterday");
    await within(async (at) => {
      await count("finished", at - 1, ids.length);
      await sample();
    });
    const [line = ""] = await samples();
    for (const time of line.split(" ").slice(9)) expect(Number(time)).to.be.within(0, 10_000);
  });

  it("makes up for intervals in which no process took a sample, as long as they are counted", async () => {
    t = await openEngine();
    const now = await within(async (at) => {
      for (const back of [1, 3, 5]) await count("accepted", at - back, back);
      await sample();
    });
    const counts = (await samples()).map((line) => [now - Number(line.split(" ")[0]), Number(line.split(" ")[5])]);
    expect(counts, "counted from the first on").to.deep.equal([
      [1, 9],
      [3, 8],
      [5, 5],
      [6, 0],
    ]);
  });

  it("keeps an hour, and what that is compared with", async () => {
    t = await openEngine();
    await t.submit();
    await within(async (now) => {
      const old = Array.from({ length: 500 }, (_, n) => `${now - 10 - n} 0 0 0 0 ${500 - n} 0 0 0 - - - -`);
      await t.redis.rpush(key(), ...old);
      await count("accepted", now - 1, 7);
      await sample();
    });
    const kept = await samples();
    expect(kept).to.have.length(SHARED.maxSamples + 2);
    expect(kept[0]).to.match(/^\d+ 1 0 0 0 507 0 0 0 /);
  });

  it("adds nothing while the clock is behind its last sample", async () => {
    t = await openEngine();
    const ahead = `${(await interval()) + 100} 5 0 0 0 9 0 0 0 - - - -`;
    await t.redis.rpush(key(), ahead);
    await t.submit();
    await sample();
    expect(await samples()).to.deep.equal([ahead]);
  });

  it("has no rate where a counter begins anew", async () => {
    t = await openEngine();
    const now = await interval();
    const lines = [`${now - 3} 1 0 0 0 5 0 0 0 - - - -`, `${now - 4} 1 0 0 0 2 0 0 0 - - - -`];
    await t.redis.rpush(key(), ...lines, `${now - 5} 1 0 0 0 700 0 0 0 - - - -`, first(now - 6));
    const { at, queues } = await t.engine.histories.read(["jobs"], HOUR);
    const n = at.indexOf((now - 5) * 10);
    expect(queues[0]?.accepted.slice(n, n + 4)).to.deep.equal([0, 700, 0, 3]);
  });

  it("has every interval, in whichever partitions the queues are", async () => {
    t = await openEngine({ partitions: 3 });
    const now = await interval();
    await t.redis.rpush(key(), `${now - 5} 7 1 0 2 3 2 4 1 100 200 10 20`, `${now - 400} 4 0 0 0 0 0 0 0 - - - -`);
    const others = Array.from({ length: 30 }, (_, i) => `q${i}`);
    for (const [i, queue] of others.entries()) await t.redis.rpush(key(queue), `${now - 5} ${i} 0 0 0 0 0 0 0 - - - -`);
    const { at, queues } = await t.engine.histories.read([...others, "jobs"], HOUR);
    expect(queues.map(({ waiting }) => waiting.at(-1))).to.deep.equal([...others.keys(), 7]);
    const jobs = queues.at(-1);
    expect(at).to.have.length(360);
    expect(at.every((time, n) => n === 0 || time - (at[n - 1] ?? 0) === 10)).to.equal(true);
    const n = at.indexOf((now - 4) * 10);
    expect(jobs?.waiting.slice(n - 1, n + 2)).to.deep.equal([4, 7, 7]);
    expect(jobs?.waiting[0]).to.equal(4);
    expect([jobs?.running[n], jobs?.dead[n], jobs?.accepted[n], jobs?.started[n]]).to.deep.equal([1, 2, 3, 2]);
    expect([jobs?.finished[n], jobs?.failed[n], jobs?.accepted[n + 1]]).to.deep.equal([4, 1, 0]);
    expect([jobs?.serviceP50[n], jobs?.serviceP95[n], jobs?.waitP50[n], jobs?.waitP95[n]]).to.deep.equal([
      100, 200, 10, 20,
    ]);
    expect(jobs?.serviceP50[n - 1]).to.equal(null);
  });

  it("ends with the last interval that has its sample, and has no times if nothing finished", async () => {
    t = await openEngine();
    const none = { serviceP50: null, serviceP95: null, waitP50: null, waitP95: null };
    const counts = { accepted: 1, started: 0, finished: 0, failed: 0 };
    const taken = { interval: 99_999, waiting: 1, running: 0, scheduled: 0, dead: 0, ...counts, times: none };
    const history = async () => ({
      nowMs: 1_000_012_500,
      samples: [[taken, { ...taken, interval: 99_998, accepted: 0 }]],
    });
    const histories = new Histories({ ...t.scripts, history }, t.keys);
    const { at, queues } = await histories.read(["jobs"], HOUR);
    expect(at.at(-1)).to.equal(1_000_000);
    expect([queues[0]?.accepted.at(-1), queues[0]?.serviceP50.at(-1)]).to.deep.equal([1, null]);
  });

  it("can be read in longer steps, and from a given time on", async () => {
    t = await openEngine();
    const now = await interval();
    await t.redis.rpush(
      key(),
      ...Array.from({ length: 60 }, (_, n) => `${now - 1 - n} ${n} 0 0 0 ${60 - n} 0 0 0 - - - -`),
    );
    const { at, queues } = await t.engine.histories.read(["jobs", "never"], { ...HOUR, intervals: 36, step: 6 });
    expect(at).to.have.length(6);
    expect(at.every((time) => time % 60 === 0)).to.equal(true);
    expect(queues[0]?.accepted).to.deep.equal([6, 6, 6, 6, 6, 6]);
    expect(queues[1]?.waiting).to.deep.equal([0, 0, 0, 0, 0, 0]);
    const later = await t.engine.histories.read(["jobs"], { ...HOUR, intervals: 36, step: 6, afterS: at[3] ?? 0 });
    expect(later.at).to.deep.equal(at.slice(4));
    const none = await t.engine.histories.read(["jobs"], { ...HOUR, afterS: 2 ** 33 });
    expect(none).to.deep.equal({ at: [], queues: none.queues, deploys: [] });
  });

  it("keeps the last sample of five minutes for a day, and that of an hour for a week", async () => {
    t = await openEngine();
    const [hour, five] = [SHARED.anHour, SHARED.fiveMinutes];
    const now = await within(async (at) => {
      for (const level of ["", ` ${five}`, ` ${hour}`]) await t.redis.unlink(key() + level);
      const earlier = (span: number, ago: number, offset: number) =>
        (Math.floor((at - 1) / span) - ago) * span + offset;
      // As if samples had been taken up to the five minutes before these, and an hour before.
      await t.redis.rpush(key(), `${earlier(five, 1, 7)} 5 1 0 2 90 60 50 3 100 200 10 20`);
      await t.redis.rpush(`${key()} ${five}`, `${earlier(five, 3, 2)} 8 0 0 0 40 20 20 2 - - - -`);
      await t.redis.rpush(`${key()} ${hour}`, `${earlier(hour, 2, 3)} 3 0 0 0 10 0 0 0 - - - -`);
      await count("accepted", at - 1, 4);
      await sample();
      expect(await t.redis.lrange(`${key()} ${five}`, 0, -1)).to.deep.equal([
        // Nothing is known any more of the tasks that finished.
        `${earlier(five, 1, 7)} 5 1 0 2 90 60 50 3 - - - -`,
        `${earlier(five, 3, 2)} 8 0 0 0 40 20 20 2 - - - -`,
      ]);
      await sample();
      expect(await t.redis.llen(`${key()} ${five}`), "each once").to.equal(2);
    });
    expect(await t.redis.pttl(`${key()} ${five}`)).to.be.within(1, 2 * WEEK_MS);
    const day = await t.engine.histories.read(["jobs"], { intervals: 8640, step: five, afterS: 0 });
    expect(day.at).to.have.length(288);
    const n = day.at.indexOf(Math.floor((now - 1) / five) * five * 10);
    expect([day.queues[0]?.accepted[n], day.queues[0]?.waiting[n], day.queues[0]?.dead[n]]).to.deep.equal([50, 5, 2]);
    const week = await t.engine.histories.read(["jobs"], { intervals: 7 * 8640, step: hour, afterS: 0 });
    expect(week.at).to.have.length(168);
  });

  it("of a day has what happened since its last five minutes, and the times of all that finished in a step", async () => {
    t = await openEngine();
    await t.submit();
    const [task] = await t.reserve();
    await t.engine.leases.complete(
      { queue: "jobs", id: task?.id ?? "", fence: task?.fence ?? "" },
      resultOf("x"),
      t.settings,
    );
    const five = SHARED.fiveMinutes;
    const begin = (Math.floor((await interval()) / five) - 2) * five;
    // It finished in the first of these samples; in the second one nothing did.
    await t.redis.rpush(key(), `${begin + 9} 0 0 0 0 1 1 1 0 - - - -`, `${begin + 5} 0 0 0 0 1 1 1 0 80 80 30 30`);
    await t.redis.rpush(`${key()} ${five}`, first(begin - 1));
    const day = async () => {
      const { at, queues } = await t.engine.histories.read(["jobs"], { intervals: 8640, step: five, afterS: 0 });
      const n = at.indexOf((begin + five) * 10);
      return [queues[0]?.finished[n], queues[0]?.serviceP50[n]];
    };
    expect(await day(), "from the latest sample").to.deep.equal([1, null]);
    await t.submit();
    await within(async (at) => {
      await count("accepted", at - 1, 1);
      await sample();
    });
    const [finished, service] = await day();
    expect(finished).to.equal(1);
    expect(service).to.be.a("number");
  });
});
