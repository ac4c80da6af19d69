import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { defineHandler, type Handler, type HandlerOptions } from "../../src/handler/define.ts";
import type { TaskContext } from "../../src/handler/task-context.ts";
import { deferred } from "../helpers/deferred.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

/** Lets the tasks of this process be lost, and finishes them. */
const RIVAL = path.join(import.meta.dirname, "rival.ts");

/** Whether a child runs; once it has ended it is a zombie until this process turns to it. */
function isRunning(pid = 0): boolean {
  return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

describe("a task that a worker has, but has not begun", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  /** Opens a workshop whose handler notes the inputs of its runs, and of what it undoes. */
  const open = async (
    options: Partial<HandlerOptions<unknown>>,
    run?: (input: unknown, task: TaskContext) => unknown,
  ) => {
    const [runs, undone]: [unknown[], unknown[]] = [[], []];
    const handler = defineHandler({
      ...{ queue: "jobs", undo: { "*": ({ input }) => void undone.push(input) }, ...options },
      run: (input: unknown, task: TaskContext) => {
        runs.push(input);
        return run?.(input, task);
      },
    });
    shop = await openWorkshop([handler as Handler], { timeless: options.lease !== undefined });
    return { runs, undone };
  };

  it("does not begin if its cancel was requested while the answer that brings it was on its way", async () => {
    const { runs, undone } = await open({});
    const [asked, gate] = [deferred(), deferred()];
    const { leases } = shop.engine;
    const reserve = leases.reserve.bind(leases);
    leases.openStandby = async () => undefined;
    leases.reserve = async (request) => {
      const answer = await reserve(request);
      if (answer.tasks.length === 0) return answer;
      asked.resolve();
      await gate.promise;
      return answer;
    };
    const id = await shop.submit("a");
    await shop.worker();
    await asked.promise;
    expect(await shop.engine.call("cancel", { id, queue: "jobs" })).to.equal("requested");
    // A later message of the same channel, so that the first has been heard.
    const heard = deferred();
    const { keys, pubsub } = shop.engine;
    await pubsub.listen(keys.workChannel(0, "jobs"), () => heard.resolve());
    await (await shop.redis()).publish(keys.workChannel(0, "jobs"), "");
    await heard.promise;
    gate.resolve();
    expect(await shop.ended(id)).to.include({ state: "canceled", attempts: 0, startedMs: null });
    expect([runs, undone]).to.deep.equal([[], []]);
  });

  it("does not begin once its lease has ended, since another worker may have it", async () => {
    let rival: ChildProcess | undefined;
    const { runs } = await open({ concurrency: 4, lease: "1s" }, () => {
      // Blocks until the other process has ended: its exit is not noticed here meanwhile.
      while (isRunning(rival?.pid)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    });
    rival = spawn(process.execPath, ["--import", "tsx", RIVAL, storeUrl(), shop.prefix, "4"]);
    if (rival.stdout) await once(rival.stdout, "data");
    const ids = await Promise.all(["a", "b", "c", "d"].map((input) => shop.submit(input)));
    await shop.worker();
    for (const id of ids) expect(await shop.answer(id)).to.equal("the rival was first");
    await eventually(() => shop.log.filter(({ msg }) => /the lease ended before/.test(String(msg))).length > 0);
    expect(runs).to.deep.equal(["a"]);
  });

  it("is as if it had not been taken once it is handed back", async () => {
    const [slow, begun] = [{ ...deferred(), over: false }, deferred()];
    const { runs, undone } = await open({ concurrency: 1 }, (input, task) => {
      if (slow.over) void task.write("one");
      if (input !== "slow") return undefined;
      begun.resolve();
      return slow.promise;
    });
    const inputs = [...Array.from({ length: 60 }, (_, n) => n), "slow", ...Array.from({ length: 20 }, (_, n) => n)];
    const ids = await Promise.all(inputs.map((input) => shop.submit(input)));
    await shop.worker();
    await begun.promise;
    const behind = ids.slice(61);
    await eventually(async () => (await Promise.all(behind.map(shop.look))).every(({ state }) => state === "waiting"));
    const [canceled = ""] = behind.splice(0, 1);
    expect(await shop.engine.call("cancel", { id: canceled, queue: "jobs" })).to.equal("canceled");
    slow.over = true;
    slow.resolve();
    for (const id of behind) {
      expect(await shop.ended(id)).to.include({ state: "succeeded", attempts: 1 });
      const { values } = await shop.engine.outputs.read({ id, queue: "jobs" }, 0);
      expect(values.map(({ run }) => run)).to.deep.equal([1]);
    }
    expect(runs).to.have.length(ids.length - 1);
    expect(undone).to.deep.equal([]);
  });
});
