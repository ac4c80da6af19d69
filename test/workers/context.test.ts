import { expect } from "chai";
import { ProblemError } from "../../src/errors.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { retryLater } from "../../src/handler/intents.ts";
import type { TaskContext } from "../../src/handler/task-context.ts";
import { deferred } from "../helpers/deferred.ts";
import { replaceCall } from "../helpers/replace-call.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

describe("the task that a handler gets", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const open = async (run: (input: unknown, task: TaskContext) => unknown, attempts = 3) => {
    const backoff = { base: "1ms" };
    shop = await openWorkshop([defineHandler({ queue: "jobs", attempts, backoff, run }) as Handler]);
  };

  it("has the fields of the task", async () => {
    let seen: TaskContext | undefined;
    await open((_, task) => {
      seen = task;
    });
    await shop.worker();
    const before = Date.now();
    const id = await shop.submit(1, { query: { width: "10", __proto__x: "1" }, caller: "bob" });
    await shop.ended(id);
    expect(seen).to.include({ id, queue: "jobs", attempt: 1, maxAttempts: 3, mediaType: "application/json" });
    expect(seen).to.include({ caller: "bob" });
    expect(seen?.query).to.deep.equal({ width: "10", __proto__x: "1" });
    expect(seen?.fence).to.be.a("number").and.above(0);
    expect(Math.abs(Number(seen?.submittedAt) - before)).to.be.below(60_000);
  });

  it("stores the last of many progress reports, and sends only a few", async () => {
    const [reported, gate] = [deferred(), deferred()];
    await open(async (_, task) => {
      for (let percent = 0; percent <= 5000; percent += 1) task.progress(percent / 100, `step ${percent}`);
      reported.resolve();
      await gate.promise;
    });
    let sent = 0;
    replaceCall(shop.engine, "progress", (_, progress) => {
      sent += 1;
      return progress();
    });
    await shop.worker();
    const id = await shop.submit(1);
    await reported.promise;
    await eventually(async () => (await shop.look(id)).progress?.percent === 50);
    expect((await shop.look(id)).progress).to.deep.include({ percent: 50, message: "step 5000" });
    expect(sent).to.equal(2);
    gate.resolve();
    await shop.ended(id);
  });

  it("brings progress into the valid range, and continues if it cannot be stored", async () => {
    const gate = deferred();
    await open(async (_, task) => {
      task.progress(Number.NaN, "x".repeat(1000));
      (task.progress as (percent: unknown, message: unknown) => void)("50", { not: "text" });
      await gate.promise;
      return "done";
    });
    replaceCall(shop.engine, "progress", () => Promise.reject(new ProblemError("store-unavailable")));
    await shop.worker();
    const id = await shop.submit(1);
    await shop.ended(id, "running");
    gate.resolve();
    expect(await shop.answer(id)).to.equal("done");
  });

  it("runs a step once, and returns its value in later attempts", async () => {
    const done: string[] = [];
    await open(async (_, task) => {
      const value = await task.step("fetch", () => {
        done.push("fetch");
        return { bytes: 3 };
      });
      const [one, two] = await Promise.all([task.step("same", () => done.push("same")), task.step("same", () => 99)]);
      if (task.attempt < 3) throw new Error("once more");
      return { value, one, two };
    });
    await shop.worker();
    const id = await shop.submit(1);
    expect(await shop.answer(id)).to.deep.equal({ value: { bytes: 3 }, one: 2, two: 2 });
    expect(done).to.deep.equal(["fetch", "same"]);
  });

  it("lets a handler retry a step that threw", async () => {
    let tries = 0;
    await open(async (_, task) => {
      const work = () => {
        tries += 1;
        if (tries === 1) throw new Error("not yet");
        return tries;
      };
      return task.step("shaky", work).catch(() => task.step("shaky", work));
    });
    await shop.worker();
    const id = await shop.submit(1);
    expect(await shop.answer(id)).to.equal(2);
    expect((await shop.look(id)).attempts, "in the same attempt").to.equal(1);
  });

  it("waits in a step until the store is back, without using up an attempt", async () => {
    let work = 0;
    await open(async (_, task) => task.step("kept", () => (work += 1)));
    const keep = shop.engine.steps.keep.bind(shop.engine.steps);
    let failures = 2;
    shop.engine.steps.keep = (...args) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new ProblemError("store-unavailable")) : keep(...args);
    };
    await shop.worker();
    const id = await shop.submit(1);
    expect(await shop.answer(id)).to.equal(1);
    expect([work, (await shop.look(id)).attempts]).to.deep.equal([1, 1]);
  });

  it("keeps its steps across retryLater", async () => {
    let work = 0;
    let runs = 0;
    await open(async (_, task) => {
      await task.step("once", () => (work += 1));
      runs += 1;
      if (runs === 1) throw retryLater("1ms");
      return work;
    });
    await shop.worker();
    expect(await shop.answer(await shop.submit(1))).to.equal(1);
    expect(runs).to.equal(2);
  });

  it("has a log whose lines carry the task's id", async () => {
    await open(async (input, task) => {
      task.log.info("directly");
      await new Promise((resolve) => setImmediate(resolve));
      task.log.child({ part: "deep" }).warn({ n: input }, "from deep within");
    });
    await shop.worker();
    const ids = await Promise.all([1, 2, 3].map((n) => shop.submit(n)));
    await Promise.all(ids.map((id) => shop.ended(id)));
    for (const [i, id] of ids.entries()) {
      const lines = shop.log.filter((line) => line.requestId === id);
      expect(lines.find((line) => line.msg === "directly")).to.include({ queue: "jobs", attempt: 1 });
      expect(lines.find((line) => line.msg === "from deep within")).to.include({ part: "deep", n: i + 1 });
    }
  });
});
