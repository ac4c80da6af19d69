import { expect } from "chai";
import { defineHandler, type Handler, type HandlerOptions } from "../../../src/handler/define.ts";
import { giveUp } from "../../../src/handler/intents.ts";
import type { UndoAllContext } from "../../../src/handler/undos.ts";
import { deferred } from "../../helpers/deferred.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";
import { firing, openWorkshop, type Workshop } from "../../helpers/workshop.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

describe("undoing", () => {
  let shop: Workshop;
  let journal: string[];
  afterEach(() => shop.close());

  const open = async (options: Omit<HandlerOptions<{ name: string }>, "queue">) => {
    journal = [];
    const handler = defineHandler<{ name: string }>({ queue: "jobs", attempts: 1, ...options }) as Handler;
    shop = await openWorkshop([handler], { undo: { attempts: 3, backoff: { base: "1ms", max: "1ms" } } });
  };
  const note = (line: string) => journal.push(line);
  const noting = (line: string) => () => {
    note(line);
    return line;
  };
  const submit = () => shop.submit({ name: "Ada" });
  const undone = async (id: string) => {
    await shop.ended(id);
    return shop.ended(`${id}:undo:jobs`, "succeeded");
  };

  it("undoes the steps of a task that failed for good, the last first, then the task as a whole", async () => {
    let all: UndoAllContext<{ name: string }> | undefined;
    await open({
      run: async (_, task) => {
        await task.step("flight", noting("flight"));
        await task.step("look", noting("look"));
        await task.step("hotel:42", noting("hotel"));
        await task.step("hotel:7", noting("other hotel"));
        throw giveUp({ status: 409, title: "no car" });
      },
      undo: {
        flight: (value, { input, task, name }) => note(`undo ${value} of ${input.name}, ${task.queue} ${name}`),
        hotel: (value, { name }) => note(`undo ${value}, ${name}`),
        "hotel:7": (value) => note(`undo exactly ${value}`),
        "*": (context) => {
          all = context;
          note("undo all");
        },
      },
    });
    await shop.worker();
    const id = await submit();
    await undone(id);
    expect(journal).to.deep.equal([
      ...["flight", "look", "hotel", "other hotel"],
      ...["undo exactly other hotel", "undo hotel, hotel:42", "undo flight of Ada, jobs flight", "undo all"],
    ]);
    expect(all?.input).to.deep.equal({ name: "Ada" });
    expect(all?.task).to.include({ id, queue: "jobs", attempt: 1 });
    expect(all?.steps).to.deep.equal([
      { name: "flight", value: "flight" },
      { name: "look", value: "look" },
      { name: "hotel:42", value: "hotel" },
      { name: "hotel:7", value: "other hotel" },
    ]);
  });

  it("never runs the handler again: code between the steps runs once, even if a successful task is deleted", async () => {
    await open({
      run: async (_, task) => {
        await task.step("reserve", noting("reserve"));
        note("SHIP");
        task.log.info("a line before the next step");
        await task.step("bill", noting("bill"));
      },
      undo: { reserve: () => note("undo reserve"), bill: () => note("undo bill") },
    });
    await shop.worker();
    const id = await submit();
    await shop.ended(id, "succeeded");
    expect(await shop.engine.call("cancel", { id, queue: "jobs" })).to.equal("deleted");
    await undone(id);
    expect(journal).to.deep.equal(["reserve", "SHIP", "bill", "undo bill", "undo reserve"]);
  });

  it("calls the undo of the whole task where there are no steps, and does not repeat the work", async () => {
    let failures = 1;
    await open({
      run: () => {
        note("work");
        throw giveUp({ status: 409 });
      },
      undo: {
        "*": ({ steps }) => {
          note(`undo all of ${steps.length}`);
          if (failures-- > 0) throw new Error("not yet");
        },
      },
    });
    await shop.worker();
    await undone(await submit());
    expect(journal).to.deep.equal(["work", "undo all of 0", "undo all of 0"]);
  });

  it("gives an undo a signal and a log that work", async () => {
    let aborted: boolean | undefined;
    await open({
      run: async (_, task) => {
        await task.step("made", () => 1);
        throw giveUp({ status: 409 });
      },
      undo: {
        made: (_, { task }) => {
          task.log.info("undoing it");
          aborted = AbortSignal.any([task.signal]).aborted;
        },
      },
    });
    await shop.worker();
    const id = await submit();
    await undone(id);
    expect(aborted).to.equal(false);
    expect(shop.log.find(({ msg }) => msg === "undoing it")).to.include({ requestId: `${id}:undo:jobs` });
  });

  it("undoes parallel steps in the reverse order of their beginning, and only when all of them have ended", async () => {
    const [slow, broken] = [deferred(), deferred()];
    await open({
      run: async (_, task) => {
        await Promise.all([
          task.step("slow", () => slow.promise.then(noting("slow"))),
          task.step("quick", async () => {
            await broken.promise;
            setImmediate(() => slow.resolve());
            return noting("quick")();
          }),
          task.step("broken", () => {
            broken.resolve();
            throw new Error("broken");
          }),
        ]);
      },
      undo: {
        slow: (value) => note(`undo ${value}`),
        quick: (value) => note(`undo ${value}`),
        broken: (value) => note(`undo broken, ${value}`),
      },
    });
    await shop.worker();
    await undone(await submit());
    expect(journal).to.deep.equal(["quick", "slow", "undo broken, undefined", "undo quick", "undo slow"]);
  });

  it("matches steps by their whole name, whatever it is", async () => {
    const names = ["undo x", "x-1", "x", "constructor", "__proto__", "*", "*:1", ":x", "größe:1", "toString:1"];
    await open({
      run: async (_, task) => {
        for (const name of names) await task.step(name, () => name);
        throw giveUp({ status: 409 });
      },
      undo: {
        x: (value) => note(value),
        "undo x": (value) => note(value),
        größe: (value) => note(value),
        "*": ({ steps }) => note(steps.map(({ name }) => name).join(" ")),
      },
    });
    await shop.worker();
    await undone(await submit());
    expect(journal).to.deep.equal(["größe:1", "x", "undo x", names.join(" ")]);
  });

  it("undoes a step during which the task was canceled, and begins no further step", async () => {
    const [begun, gate] = [deferred(), deferred()];
    await open({
      run: async (_, task) => {
        await task.step("book", async () => {
          begun.resolve();
          await Promise.all([firing(task.signal), gate.promise]);
          return "booked";
        });
      },
      undo: { book: (value, { task }) => note(`undo ${value} of ${task.id}`) },
    });
    await shop.worker();
    const id = await submit();
    await begun.promise;
    await shop.engine.call("cancel", { id, queue: "jobs" });
    gate.resolve();
    await undone(id);
    // Its value came while it was still the worker's, or after that; either way the step is undone.
    expect(journal).to.have.length(1);
    expect(journal[0]).to.match(new RegExp(`^undo (booked|undefined) of ${id}$`));
  });

  it("begins no step of a canceled task, even if the handler ignores its signal", async () => {
    const begun = deferred();
    await open({
      run: async (_, task) => {
        begun.resolve();
        await firing(task.signal);
        await task.step("book", noting("booked")).catch((error: Error) => note(`${error.name}: ${error.cause}`));
        await task.step("look", noting("looked")).catch((error: Error) => note(`${error.name}: ${error.cause}`));
      },
      undo: { book: noting("undo book"), "*": ({ steps }) => note(`undo all, ${steps.length} steps`) },
    });
    await shop.worker();
    const id = await submit();
    await begun.promise;
    await shop.engine.call("cancel", { id, queue: "jobs" });
    await undone(id);
    expect(journal).to.deep.equal(["AbortError: canceled", "AbortError: canceled", "undo all, 0 steps"]);
  });

  it("begins no step after a cancel that the worker does not know of yet, nor under another worker's lease", async () => {
    const begun = [deferred(), deferred()];
    const go = [deferred(), deferred()];
    const thrown: string[] = [];
    await open({
      run: async (input, task) => {
        const n = Number(input.name);
        begun[n]?.resolve();
        await go[n]?.promise;
        await task.step("book", noting("booked")).catch((error: Error) => thrown.push(error.name));
      },
      undo: { book: noting("undo book") },
    });
    await shop.worker();
    const ids = [await shop.submit({ name: "0" }), await shop.submit({ name: "1" })];
    await Promise.all(begun.map(({ promise }) => promise));
    // The worker gets no message: the script finds it in the store.
    const redis = await shop.redis();
    const [canceled, lost] = ids.map((id) => shop.engine.keys.start(shop.engine.keys.tag(0), "task") + id);
    await redis.hset(canceled ?? "", TASK.cancel, "1");
    await redis.hset(lost ?? "", TASK.run, "1 0 1 1 w");
    for (const { resolve } of go) resolve();
    await shop.ended(ids[0] ?? "", "canceled");
    await undone(ids[0] ?? "");
    expect(journal).to.deep.equal([]);
    expect(thrown.sort()).to.deep.equal(["AbortError", "LeaseLost"]);
  });

  it("begins no step after the process was blocked for longer than the lease, even one without undo", async () => {
    let redis: Awaited<ReturnType<Workshop["redis"]>> | undefined;
    const thrown: string[] = [];
    await open({
      lease: "1s",
      run: async (_, task) => {
        await task.step("first", () => 1);
        // Another worker gets it while this process is blocked.
        const { keys } = shop.engine;
        await redis?.hset(keys.start(keys.tag(0), "task") + task.id, TASK.run, "1 0 1 1 w");
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100);
        await task.step("look", noting("looked")).catch((error: Error) => thrown.push(error.name));
      },
    });
    redis = await shop.redis();
    await shop.worker();
    await submit();
    await eventually(() => thrown.length > 0);
    expect([thrown, journal]).to.deep.equal([["LeaseLost"], []]);
  });

  it("does nothing for a task that never began", async () => {
    await open({ run: noting("run"), undo: { "*": noting("undo all") } });
    const id = await submit();
    expect(await shop.engine.call("cancel", { id, queue: "jobs" })).to.equal("canceled");
    expect(await shop.engine.inspector.inspect(`${id}:undo:jobs`, { result: false })).to.equal(null);
  });

  it("is not shown as that of a later task with the same id", async () => {
    await open({
      run: async (_, task) => {
        await task.step("secret", noting("secret"));
        throw giveUp({ status: 409, title: "no" });
      },
      undo: { secret: () => note("undone") },
    });
    await shop.worker();
    const id = await submit();
    await undone(id);
    const { engine } = shop;
    const redis = await shop.redis();
    expect((await engine.call("details", { id, queue: "jobs" }))?.undo).to.equal(`${id}:undo:jobs`);
    await redis.del(storedKey(engine.keys.tag(0), "task", id));
    await engine.queues.pause("jobs", true);
    await engine.submitter.submit(submissionOf(id, "jobs", "1", { caller: "bob" }), engine.queues.settings("jobs"));
    expect(await engine.call("details", { id, queue: "jobs" })).to.deep.include({ undo: "", steps: [], stepCount: 0 });
  });
});
