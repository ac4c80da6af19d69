import { expect } from "chai";
import { retentionOf } from "../../src/engine/settings.ts";
import { ProblemError } from "../../src/errors.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import type { TaskContext } from "../../src/handler/task-context.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

describe("what a handler writes", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const open = async (run: (input: unknown, task: TaskContext) => unknown, options = {}) => {
    const backoff = { base: "1ms" };
    shop = await openWorkshop([defineHandler({ queue: "jobs", attempts: 2, backoff, run }) as Handler]);
    await shop.worker(options);
  };
  const read = async (id: string) => {
    const { values } = await shop.engine.outputs.read({ id, queue: "jobs" }, 0);
    return values.map(({ run, json }) => [run, JSON.parse(json)]);
  };
  /** How a promise ends. */
  const refusal = (promise: Promise<unknown>) =>
    promise.then(
      () => "",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );

  it("is stored in order before the result, although the handler does not await it", async () => {
    await open((_, task) => {
      for (let n = 0; n < 1000; n += 1) void task.write(n);
      const { write } = task;
      void write("last");
      return "done";
    });
    const id = await shop.submit(1);
    expect(await shop.answer(id)).to.equal("done");
    expect((await read(id)).map(([, value]) => value)).to.deep.equal([...Array(1000).keys(), "last"]);
  });

  it("travels in few calls", async () => {
    let calls = 0;
    await open(async (_, task) => {
      const { outputs } = shop.engine;
      const stored = outputs.write.bind(outputs);
      outputs.write = (...args) => {
        calls += 1;
        return stored(...args);
      };
      await Promise.all(Array.from({ length: 100 }, (_, n) => task.write(n)));
    });
    const id = await shop.submit(1);
    await shop.ended(id, "succeeded");
    expect(await read(id)).to.have.length(100);
    expect(calls).to.equal(1);
  });

  it("is distinguished by attempt", async () => {
    await open((_, task) => {
      void task.write(`attempt ${task.attempt}`);
      if (task.attempt === 1) throw new Error("once more");
    });
    const id = await shop.submit(1);
    await shop.ended(id, "succeeded");
    expect(await read(id)).to.deep.equal([
      [1, "attempt 1"],
      [2, "attempt 2"],
    ]);
  });

  it("is refused beyond MAX_OUTPUT, which ends nothing unless the handler wants it to", async () => {
    let refused = "";
    await open(
      async (_, task) => {
        void task.write("x".repeat(60));
        void task.write("y".repeat(60));
        await task.write("z");
        refused = await refusal(task.write("w".repeat(60)));
      },
      { maxOutputBytes: 100 },
    );
    const id = await shop.submit(1);
    await shop.ended(id, "succeeded");
    expect((await read(id)).map(([, value]) => value)).to.deep.equal(["x".repeat(60), "z"]);
    expect(refused).to.contain("MAX_OUTPUT (100)");
    const told = shop.log.filter(({ msg }) => String(msg).includes("could not store the handler's output"));
    expect(told).to.have.length(1);
  });

  it("is limited over all attempts; a handler that does not catch the refusal fails for good", async () => {
    await open(
      async (_, task) => {
        await task.write("x".repeat(60));
        throw new Error("once more");
      },
      { maxOutputBytes: 100 },
    );
    const seen = await shop.ended(await shop.submit(1), "failed");
    expect(seen.attempts).to.equal(2);
    expect(seen.errors[0]).to.contain("MAX_OUTPUT (100)");
  });

  it("is refused if it is not JSON", async () => {
    const refusals: string[] = [];
    await open(async (_, task) => {
      const cyclic: { self?: unknown } = {};
      cyclic.self = cyclic;
      void task.write(undefined);
      for (const value of [undefined, () => 1, 1n, cyclic, { late: Promise.resolve() }])
        refusals.push(await refusal(task.write(value)));
    });
    const id = await shop.submit(1);
    await shop.ended(id, "succeeded");
    expect(await read(id)).to.deep.equal([]);
    for (const said of refusals) expect(said).to.match(/^what is written is not JSON/);
  });

  it("is refused once the lease is lost", async () => {
    let said = "";
    await open(async (_, task) => {
      await shop.engine.call("release", {
        queue: "jobs",
        id: task.id,
        fence: String(task.fence),
        ...retentionOf(shop.engine.queues.settings("jobs")),
      });
      await shop.engine.call("cancel", { id: task.id, queue: "jobs" });
      said = await refusal(task.write("late"));
    });
    const id = await shop.submit(1);
    await shop.ended(id, "canceled");
    // It has ended by the cancel, before the handler writes.
    await eventually(() => said !== "");
    expect(said).to.contain("no longer belongs to this worker");
    expect(await read(id)).to.deep.equal([]);
  });

  it("waits for an unreachable store, and is stored once", async () => {
    let failures = 0;
    await open(async (_, task) => {
      const { outputs } = shop.engine;
      const stored = outputs.write.bind(outputs);
      outputs.write = async (...args) => {
        const written = await stored(...args);
        if (failures > 0) return written;
        failures += 1;
        // It was stored, but nobody heard of it.
        throw new ProblemError("store-unavailable");
      };
      await task.write("word");
    });
    const id = await shop.submit(1);
    await shop.ended(id, "succeeded");
    expect(failures).to.equal(1);
    expect(await read(id)).to.deep.equal([[1, "word"]]);
  });

  it("is refused by a store at its memory limit, and the task goes on", async () => {
    let said = "";
    await open(async (_, task) => {
      shop.engine.outputs.write = () => Promise.reject(new ProblemError("store-full"));
      said = await refusal(task.write("word"));
      return "done";
    });
    expect(await shop.answer(await shop.submit(1))).to.equal("done");
    expect(said).not.to.equal("");
  });
});
