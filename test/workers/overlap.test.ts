import { setTimeout as work } from "node:timers/promises";
import { expect } from "chai";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import type { TaskContext } from "../../src/handler/task-context.ts";
import { isOutcome } from "../../src/task.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";
import { randomOf } from "../shared/random.ts";

const SEED = 20_261_122;
const TASKS = 40;
const KEYS = 10;
/** Longer than any grace: so some handlers run on for longer than they would have been waited for. */
const LONGEST_STEP_MS = 3500;

/** What the handler of a task does. */
interface Plan {
  readonly key: string;
  readonly steps: readonly number[];
  readonly deaf: boolean;
  readonly fails: boolean;
}

describe("handlers that are stopped at random moments, many of which ignore it", function () {
  this.timeout(120_000);
  let shop: Workshop;
  afterEach(() => shop.close());

  it("overlap neither with the undo of their steps nor with another task of their key", async () => {
    const random = randomOf(SEED);
    const below = (n: number) => Math.floor(random() * n);
    const wrong: string[] = [];
    const running = new Set<string>();
    const byKey = new Map<string, string>();
    const counts = { undone: 0, late: 0, runs: 0 };
    const enter = (key: string, id: string) => {
      const other = byKey.get(key);
      if (other !== undefined) wrong.push(`${id} begins beside ${other} of ${key}`);
      byKey.set(key, id);
    };

    const step = async (name: string, ms: number, deaf: boolean, task: TaskContext) => {
      const of = `${task.id} ${name}`;
      await task.step(name, async () => {
        running.add(of);
        try {
          await work(ms, undefined, deaf ? {} : { signal: task.signal });
          if (task.signal.aborted) counts.late += 1;
        } finally {
          running.delete(of);
        }
      });
    };
    const run = async ({ steps, deaf, fails, key }: Plan, task: TaskContext) => {
      counts.runs += 1;
      const own = key === "" ? task.id : key;
      enter(own, task.id);
      try {
        for (const [nth, ms] of steps.entries()) await step(`step:${nth}`, ms, deaf, task);
        if (fails) throw new Error("as planned");
      } finally {
        byKey.delete(own);
      }
    };
    const common = { attempts: 2, backoff: { base: "1ms", max: "5ms" }, concurrency: TASKS, run };
    const undo = {
      step: (_: unknown, { name, task }: { name: string; task: { id: string } }) => {
        counts.undone += 1;
        if (running.has(`${task.id} ${name}`)) wrong.push(`${name} of ${task.id} is undone while it is at work`);
        if (byKey.has(task.id)) wrong.push(`${name} of ${task.id} is undone while its handler runs`);
      },
    };
    const keyed = { by: ({ key }: Plan) => key };
    const handlers = [
      defineHandler<Plan>({ queue: "undone", ...common, undo }),
      defineHandler<Plan>({ queue: "undone-in-time", ...common, timeout: "400ms", undo }),
      defineHandler<Plan>({ queue: "keyed", ...common, keyed }),
      defineHandler<Plan>({ queue: "keyed-in-time", ...common, timeout: "400ms", keyed }),
    ] as readonly Handler[];
    shop = await openWorkshop(handlers);
    await Promise.all([shop.worker(), shop.worker()]);

    const submit = async (nth: number) => {
      const queue = handlers[nth % handlers.length]?.queue ?? "";
      // A key is one of its queue.
      const key = queue.startsWith("keyed") ? `${queue} ${below(KEYS)}` : "";
      const steps = Array.from({ length: 1 + below(2) }, () => below(LONGEST_STEP_MS));
      const plan: Plan = { key, steps, deaf: random() < 0.7, fails: random() < 0.2 };
      const cancelAfterMs = random() < 0.6 ? below(2000) : undefined;
      const id = await shop.submit(plan, key === "" ? { queue } : { queue, key });
      if (cancelAfterMs !== undefined) {
        await work(cancelAfterMs);
        // One that has succeeded is undone when it is deleted.
        await shop.engine.call("cancel", { id, queue });
      }
      return { id, queue };
    };
    const tasks = await Promise.all(Array.from({ length: TASKS }, (_, nth) => submit(nth)));
    for (const { id } of tasks) await eventually(async () => isOutcome((await shop.look(id)).state), 60_000);
    await eventually(async () => {
      const [row] = await shop.engine.queues.figures(["paihao.undo"]);
      const { waiting = 1, running: busy = 1, scheduled = 1 } = row?.snapshot ?? {};
      return waiting + busy + scheduled === 0;
    }, 60_000);
    expect(wrong).to.deep.equal([]);
    // The run was worth it.
    expect(counts.undone).to.be.above(5);
    expect(counts.late).to.be.above(5);
    expect(counts.runs).to.be.above(TASKS / 2);
  });
});
