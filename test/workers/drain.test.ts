import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import type { TaskContext } from "../../src/handler/task-context.ts";
import { deferred } from "../helpers/deferred.ts";
import { firing, openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

describe("a worker that stops", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const open = async (run: (input: unknown, task: TaskContext) => unknown) => {
    shop = await openWorkshop([defineHandler({ queue: "jobs", concurrency: 2, attempts: 2, run })]);
  };

  it("takes no more work, and lets running tasks end within the drain timeout", async () => {
    const gate = deferred();
    let runs = 0;
    await open(async (_, task) => {
      runs += 1;
      await gate.promise;
      return task.signal.aborted;
    });
    const worker = await shop.worker({ drainTimeoutMs: 10_000 });
    const ids = [await shop.submit(1), await shop.submit(2), await shop.submit(3)];
    await eventually(() => runs === 2);
    const stopped = worker.stop();
    const late = await shop.submit(4);
    gate.resolve();
    await stopped;
    expect(await shop.answer(String(ids[0]))).to.equal(false);
    expect(await shop.answer(String(ids[1]))).to.equal(false);
    for (const id of [ids[2], late]) expect((await shop.look(String(id))).state).to.equal("waiting");
  });

  it("sends no more requests for work once it is stopped", async () => {
    const handler = defineHandler({ queue: "jobs", concurrency: 2, run: () => undefined });
    shop = await openWorkshop([handler], { env: { PARTITIONS: "3" } });
    const reserve = shop.engine.leases.reserve.bind(shop.engine.leases);
    const [asked, answer] = [deferred(), deferred()];
    let requests = 0;
    shop.engine.leases.reserve = async (request) => {
      if (request.queue === "jobs") requests += 1;
      asked.resolve();
      await answer.promise;
      return reserve(request);
    };
    const worker = await shop.worker({ drainTimeoutMs: 10_000 });
    await asked.promise;
    const stopped = worker.stop();
    answer.resolve();
    await stopped;
    expect(requests).to.equal(1);
  });

  it("hands back the others to their old places, with their attempt not counted", async () => {
    const reasons: string[] = [];
    let runs = 0;
    await open(async (input, task) => {
      runs += 1;
      if (runs > 2) return `run ${runs} of ${input}`;
      reasons.push(await firing(task.signal));
      throw task.signal.reason;
    });
    const worker = await shop.worker({ drainTimeoutMs: 50 });
    const [first, second] = [await shop.submit("first"), await shop.submit("second")];
    await eventually(() => runs === 2);
    const third = await shop.submit("third");
    await worker.stop();
    expect(reasons).to.deep.equal(["shutdown", "shutdown"]);
    for (const [index, id] of [first, second, third].entries()) {
      expect(await shop.look(id)).to.include({ state: "waiting", index, attempts: 0, lost: 0 });
    }
    await shop.worker();
    expect(await shop.answer(first)).to.match(/run \d of first/);
    expect((await shop.look(first)).attempts).to.equal(1);
  });

  it("hands back tasks that ignore their signal too, and refuses their later results", async () => {
    const gate = deferred();
    let runs = 0;
    await open(async () => {
      runs += 1;
      if (runs === 1) await gate.promise;
      return runs === 1 ? "ignored the end" : "run again";
    });
    const worker = await shop.worker({ drainTimeoutMs: 20 });
    const id = await shop.submit(1);
    await eventually(() => runs === 1);
    // The gate is closed until after that.
    await worker.stop();
    expect(await shop.look(id)).to.include({ state: "waiting", attempts: 0 });
    await shop.worker();
    expect(await shop.answer(id)).to.equal("run again");
    gate.resolve();
    expect(runs).to.equal(2);
  });

  it("stores what a handler returns after it was asked to stop", async () => {
    await open(async (_, task) => `stopped by ${await firing(task.signal)}`);
    const worker = await shop.worker({ drainTimeoutMs: 20 });
    const id = await shop.submit(1);
    await shop.ended(id, "running");
    await worker.stop();
    expect(await shop.answer(id)).to.equal("stopped by shutdown");
  });

  it("lets a requested cancel take effect", async () => {
    await open(async (_, task) => {
      await firing(task.signal);
      throw task.signal.reason;
    });
    // No notice and no renewal tells the worker.
    shop.engine.pubsub.listen = async () => () => undefined;
    const worker = await shop.worker({ drainTimeoutMs: 0 });
    const id = await shop.submit(1);
    await shop.ended(id, "running");
    await shop.engine.call("cancel", { id, queue: "jobs" });
    await worker.stop();
    expect((await shop.look(id)).state).to.equal("canceled");
  });

  it("can be stopped twice, before it has started and while it starts; it then takes no work", async () => {
    let runs = 0;
    await open(() => {
      runs += 1;
    });
    const open_ = shop.engine.leases.openStandby.bind(shop.engine.leases);
    const waiting = new Set<unknown>();
    shop.engine.leases.openStandby = async (queue) => {
      const standby = await open_(queue);
      if (!standby) return standby;
      waiting.add(standby);
      const close = standby.close.bind(standby);
      standby.close = () => {
        waiting.delete(standby);
        close();
      };
      return standby;
    };
    const never = await shop.worker({ idle: true });
    await never.stop();
    await never.start();
    await never.stop();
    const hasty = await shop.worker({ idle: true });
    const starting = hasty.start();
    await Promise.all([starting, hasty.stop(), hasty.stop()]);
    expect(waiting, "connections that are left").to.have.property("size", 0);
    const { keys, pubsub } = shop.engine;
    const announced = deferred();
    await pubsub.listen(keys.workChannel(0, "jobs"), () => announced.resolve());
    const id = await shop.submit(1);
    // Whoever listened would ask now, on the connection that the look travels on.
    await announced.promise;
    expect([runs, (await shop.look(id)).state]).to.deep.equal([0, "waiting"]);
    expect((await shop.engine.queues.figures(["jobs"]))[0]?.snapshot).to.include({ workers: 0, slots: 0 });
  });
});
