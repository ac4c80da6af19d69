import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect } from "chai";
import { defineHandler, type Handler, type HandlerOptions } from "../../src/handler/define.ts";
import type { TaskContext } from "../../src/handler/task-context.ts";
import { deferred } from "../helpers/deferred.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { firing, openWorkshop, type Workshop, type WorkshopOptions } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const RIVAL = path.join(import.meta.dirname, "rival.ts");

describe("a running task's signal", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const open = async (
    run: (input: unknown, task: TaskContext) => unknown,
    handler: Partial<HandlerOptions<unknown>> = {},
    options: WorkshopOptions = {},
  ) => {
    shop = await openWorkshop([defineHandler({ queue: "jobs", attempts: 1, ...handler, run })], options);
  };
  const said = (message: RegExp) => shop.log.filter((line) => message.test(String(line.msg)));

  it("does not fire in a task that runs longer than its lease, which is run once", async () => {
    let runs = 0;
    const gate = deferred();
    await open(
      async (_, task) => {
        runs += 1;
        await gate.promise;
        return task.signal.aborted;
      },
      { lease: "1s" },
    );
    await shop.worker();
    const id = await shop.submit(1);
    await shop.ranFor(id, 2500);
    gate.resolve();
    expect(await shop.answer(id)).to.equal(false);
    expect([runs, (await shop.look(id)).lost]).to.deep.equal([1, 0]);
  });

  it("fires at the timeout, and the task fails whatever the handler does", async () => {
    const reasons: string[] = [];
    await open(
      async (input, task) => {
        const reason = await firing(task.signal);
        reasons.push(reason);
        if (input === "throw") throw task.signal.reason;
        return "too late";
      },
      { timeout: "50ms" },
    );
    await shop.worker();
    const ids = [await shop.submit("throw"), await shop.submit("return")];
    for (const id of ids) {
      const seen = await shop.ended(id);
      expect(seen).to.include({ state: "failed", errorCode: "task-timeout" });
      expect(seen.errors).to.deep.equal(["took longer than 50 ms"]);
    }
    expect(reasons).to.deep.equal(["timeout", "timeout"]);
  });

  it("frees the slot after a grace period if the handler ignores it", async () => {
    const never = deferred();
    await open((input) => (input === "never" ? never.promise : "done"), { timeout: "50ms", concurrency: 1 });
    await shop.worker({ graceMs: 20 });
    const [never1, after] = [await shop.submit("never"), await shop.submit("after")];
    expect(await shop.ended(never1)).to.include({ state: "failed", errorCode: "task-timeout" });
    expect(await shop.answer(after)).to.equal("done");
    never.resolve();
  });

  it("limits the reading of a Response too", async () => {
    await open(() => new Response(new ReadableStream()), { timeout: "50ms" });
    await shop.worker();
    expect(await shop.ended(await shop.submit(1))).to.include({ state: "failed", errorCode: "task-timeout" });
  });

  it("fires at once when the task is canceled, long before the lease is renewed", async () => {
    const begun = deferred();
    const reasons: string[] = [];
    await open(
      async (_, task) => {
        begun.resolve();
        reasons.push(await firing(task.signal));
        throw task.signal.reason;
      },
      { lease: "10m" },
    );
    await shop.worker();
    const id = await shop.submit(1);
    await begun.promise;
    expect(await shop.engine.call("cancel", { id, queue: "jobs" })).to.equal("requested");
    expect((await shop.ended(id)).state).to.equal("canceled");
    expect(reasons).to.deep.equal(["canceled"]);
    expect(said(/the attempt failed/)).to.deep.equal([]);
  });

  it("fires at the next renewal if all messages are lost, and polling finds unannounced work", async () => {
    const begun = deferred();
    const reasons: string[] = [];
    await open(
      async (_, task) => {
        begun.resolve();
        reasons.push(await firing(task.signal));
      },
      { lease: "1s" },
    );
    shop.engine.pubsub.listen = async () => () => undefined;
    await shop.worker();
    const id = await shop.submit(1);
    await begun.promise;
    await shop.engine.call("cancel", { id, queue: "jobs" });
    expect((await shop.ended(id)).state).to.equal("canceled");
    expect(reasons).to.deep.equal(["canceled"]);
  });

  it("counts a canceled run as canceled, whatever its handler then does", async () => {
    await open(async (input, task) => {
      const reason = await firing(task.signal);
      if (input === "throw") throw new Error(reason);
      return reason;
    });
    await shop.worker();
    const ids = [await shop.submit("throw"), await shop.submit("return")];
    for (const id of ids) {
      await shop.ended(id, "running");
      await shop.engine.call("cancel", { id, queue: "jobs" });
      expect((await shop.ended(id)).state).to.equal("canceled");
    }
    const text = await shop.engine.metrics.exposition();
    const durations = text.match(/paihao_attempt_duration_seconds_count\{[^}]*\} \d+/g);
    expect(durations).to.deep.equal(['paihao_attempt_duration_seconds_count{queue="jobs",end="canceled"} 2']);
    expect(text).to.contain('paihao_attempts_total{queue="jobs",ending="canceled"} 2');
  });

  it("fires when the lease was lost while the event loop was blocked, and the late result is refused", async () => {
    const reason = deferred<string>();
    let runs = 0;
    await open(
      async (_, task) => {
        runs += 1;
        spawnSync(process.execPath, ["--import", "tsx", RIVAL, storeUrl(), shop.prefix], { timeout: 15_000 });
        reason.resolve(await firing(task.signal));
        return "late";
      },
      { lease: "1s" },
      { timeless: true },
    );
    await shop.worker();
    const id = await shop.submit(1);
    expect(await reason.promise).to.equal("lease-lost");
    expect(await shop.answer(id)).to.equal("the rival was first");
    expect([runs, (await shop.look(id)).lost]).to.deep.equal([1, 1]);
    await eventually(() => said(/the result of this attempt is discarded/).length === 1);
  });

  it("does not fire if the handler returns right afterwards, and the late result is refused by its fence", async () => {
    await open(
      () => {
        spawnSync(process.execPath, ["--import", "tsx", RIVAL, storeUrl(), shop.prefix], { timeout: 15_000 });
        return "late";
      },
      { lease: "1s" },
      { timeless: true },
    );
    await shop.worker();
    const id = await shop.submit(1);
    await eventually(() => said(/the store refused the end|result of this attempt is discarded/).length === 1);
    expect(await shop.answer(id)).to.equal("the rival was first");
  });

  it("fires in the first run if the same worker gets the task again", async () => {
    const reasons: string[] = [];
    let runs = 0;
    const handler = defineHandler({
      queue: "jobs",
      lease: "1s",
      run: async (_, task) => {
        runs += 1;
        if (runs > 1) return "second";
        reasons.push(await firing(task.signal));
        return "first";
      },
    }) as Handler;
    shop = await openWorkshop([handler]);
    // Nothing is renewed, and nothing tells the worker that its lease is gone.
    shop.engine.leases.renew = async () => "ok";
    await shop.worker();
    const id = await shop.submit(1);
    expect(await shop.answer(id)).to.equal("second");
    expect(reasons).to.deep.equal(["lease-lost"]);
  });
});
