import { expect } from "chai";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { GiveUp } from "../../../src/handler/intents.ts";
import { loadHandlers } from "../../../src/handler/load.ts";
import { attemptsOf } from "../../../src/http/task/timeline.ts";
import { keysLike } from "../../helpers/store/scan.ts";
import { ATTEMPTS, storedKey } from "../../helpers/store/stored.ts";
import { openWorkshop, type Workshop } from "../../helpers/workshop.ts";
import { eventually } from "../../shared/eventually.ts";

describe("what attempts leave for operators", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const open = async (handler: Handler) => {
    shop = await openWorkshop([handler]);
    await shop.worker();
  };
  /** Of a task that has ended: the attempts, the oldest first. */
  const attempts = async (id: string) => {
    const seen = await shop.ended(id);
    const details = await shop.engine.call("details", { id, queue: seen.queue });
    return details === null ? [] : attemptsOf(seen, details, true).attempts;
  };
  const left = (id: string) => storedKey(shop.engine.keys.tagOfQueue("jobs"), "attempts", id);
  const texts = (lines: readonly { readonly level: string; readonly text: string }[] = []) =>
    lines.map(({ level, text }) => `${level} ${text}`);

  it("is the stack of each that failed, and the latest lines of its log", async () => {
    await open(
      defineHandler({
        queue: "jobs",
        attempts: 2,
        backoff: { base: 1, max: 1 },
        run(_input: unknown, task) {
          const log = task.log.child({ part: "deep" });
          for (let n = 1; n <= 60; n += 1) log.info("line %d", n);
          task.log.error(new RangeError("odd"), "of a password=hunter2secret");
          log.trace("below the level");
          throw new TypeError("out of cheese", { cause: new Error("the mouse") });
        },
      }) as Handler,
    );
    const seen = await attempts(await shop.submit(1));
    expect(seen.map(({ number, outcome }) => [number, outcome])).to.deep.equal([
      [1, "retrying"],
      [2, "failed"],
    ]);
    for (const { stack, log, startedAt, endedAt } of seen) {
      expect(stack).to.match(
        /^TypeError: out of cheese\n {4}at .*attempt-log\.test\.ts:\d+:\d+[\s\S]*caused by: Error: the mouse/,
      );
      expect(log).to.have.lengthOf(50);
      expect(texts(log).slice(0, 1)).to.deep.equal(['info line 12 {"part":"deep"}']);
      expect(texts(log).at(-1)).to.match(/^error of a password=.* RangeError: odd\n {4}at /);
      for (const { at } of log) expect(at >= startedAt && at <= String(endedAt), at).to.equal(true);
    }
  });

  it("has line separators of Unicode in errors and lines", async () => {
    await open(
      defineHandler({
        queue: "jobs",
        attempts: 1,
        run(_input: unknown, task) {
          task.log.info("one\u2028two\u2029three");
          throw new Error("four\u2028five");
        },
      }) as Handler,
    );
    const [attempt] = await attempts(await shop.submit(1));
    expect(texts(attempt?.log)).to.deep.equal(["info one\u2028two\u2029three"]);
    expect(attempt?.stack).to.match(/^Error: four\u2028five\n {4}at /);
  });

  it("names the errors in an error", async () => {
    await open(
      defineHandler({
        queue: "jobs",
        attempts: 1,
        async run(_input: unknown, task) {
          const down = () =>
            Promise.any(["one", "two"].map((name) => Promise.reject(new RangeError(`${name} is down`))));
          await down().catch((err) => task.log.warn({ err }, "once more"));
          await down();
        },
      }) as Handler,
    );
    const id = await shop.submit(1);
    const [attempt] = await attempts(id);
    expect((await shop.look(id)).errors).to.deep.equal(["All promises were rejected: one is down, two is down"]);
    for (const name of ["one", "two"]) {
      expect(attempt?.stack).to.match(new RegExp(`\\none of its errors: RangeError: ${name} is down\\n +at `));
    }
    const [line] = texts(attempt?.log);
    expect(line).to.match(/^warn once more \[one is down, two is down\] AggregateError: All promises were rejected/);
    const logged = shop.log.find(({ msg }) => msg === "the attempt failed");
    expect(JSON.stringify(logged?.err)).to.include("one is down").and.include("two is down");
  });

  it("never changes the outcome, whatever is logged, here or in a child process", async () => {
    const handlersDir = new URL("../../fixtures/handlers/logging", import.meta.url).pathname;
    const handlers = await loadHandlers(handlersDir);
    shop = await openWorkshop([...handlers.values()]);
    await shop.worker({ handlersDir });
    for (const queue of handlers.keys()) {
      const id = await shop.submit(1, { queue });
      expect(await shop.answer(id), queue).to.equal("done");
      const [attempt, ...others] = await attempts(id);
      expect(others, queue).to.deep.equal([]);
      const lines = texts(attempt?.log);
      expect(lines.length, queue).to.be.above(8);
      expect([lines[0], lines.at(-1)], queue).to.deep.equal(["info first", "info last"]);
      for (const { at } of attempt?.log ?? []) expect(Date.now() - Date.parse(at), at).to.be.within(-1000, 60_000);
    }
  });

  it("is bounded: long lines and stacks are cut, and only the latest attempts are kept", async () => {
    await open(
      defineHandler({
        queue: "jobs",
        attempts: 8,
        backoff: { base: 1, max: 1 },
        run(_input: unknown, task) {
          for (let n = 0; n < 50; n += 1) task.log.info(`${n} ${"é".repeat(1500)}`);
          const error = new Error("x".repeat(7000));
          throw error;
        },
      }) as Handler,
    );
    const id = await shop.submit(1);
    const seen = await attempts(id);
    const kept = seen.filter(({ stack }) => stack !== null);
    expect(kept.length).to.be.within(1, 5);
    expect(kept).to.deep.equal(seen.slice(-kept.length));
    expect(kept.at(-1)?.stack).to.match(/\n {4}at .*attempt-log\.test\.ts/);
    expect(texts(kept.at(-1)?.log).at(-1)).to.match(/^info 49 é+/);
    const redis = await shop.redis();
    expect(await redis.hstrlen(left(id), ATTEMPTS.logs)).to.be.within(1, 33_000);
  });

  it("goes with the result, when that expires or is deleted, however the task ended", async () => {
    const keep = { resultTtl: "300ms", attempts: 2, backoff: { base: 1, max: 1 } } as const;
    const run = (how: string, task: { attempt: number; log: { info(line: string): void } }) => {
      for (let n = 0; n < 50; n += 1) task.log.info(`${how} ${"x".repeat(150)}`);
      if (how === "give up") throw new GiveUp({ detail: "no" });
      if (task.attempt === 1 || how === "die") throw new Error("y".repeat(5000));
    };
    shop = await openWorkshop([defineHandler({ queue: "jobs", ...keep, run }) as Handler], {
      env: { DEAD_TTL: "300ms" },
    });
    await shop.worker();
    const redis = await shop.redis();
    const tag = shop.engine.keys.tagOfQueue("jobs");
    /** How many bytes all that is stored under a task's id takes. */
    const bytesOf = async (id: string) => {
      const keys = (await keysLike(redis, `${tag}*`)).filter((key) => key.endsWith(`:${id}`));
      const bytes = await Promise.all(keys.map((key) => redis.memory("USAGE", key)));
      return bytes.reduce<number>((sum, some) => sum + (some ?? 0), 0);
    };
    for (const how of ["succeed", "give up", "die"]) {
      const [kept, deleted] = [await shop.submit(how), await shop.submit(how)];
      for (const id of [kept, deleted]) await shop.ended(id);
      await shop.engine.call("cancel", { id: deleted, queue: "jobs" });
      expect(await bytesOf(deleted), `${how}, deleted`).to.be.within(1, 1200);
      await eventually(async () => (await shop.look(kept)).expired);
      await eventually(async () => (await bytesOf(kept)) < 1200, 2000);
      expect(await bytesOf(kept), `${how}, expired`).to.be.within(1, 1200);
    }
  });

  it("is the log of each task of a batch, of one that succeeds too, and nothing of one that logs nothing", async () => {
    await open(
      defineHandler({
        queue: "jobs",
        batch: { max: 2, wait: "1m" },
        run(inputs: readonly unknown[], tasks) {
          tasks[0]?.log.warn({ n: 7 }, "only the first");
          return inputs;
        },
      }) as Handler,
    );
    const ids = [await shop.submit(1), await shop.submit(2)];
    const [first, second] = await Promise.all(ids.map(attempts));
    expect(texts(first?.[0]?.log)).to.deep.equal(['warn only the first {"n":7}']);
    expect([second?.[0]?.log, second?.[0]?.stack]).to.deep.equal([[], null]);
    const redis = await shop.redis();
    expect(await redis.exists(left(ids[1] ?? ""))).to.equal(0);
  });
});
