import { expect } from "chai";
import { z } from "zod";
import { lossOf } from "../../src/engine/upkeep/tick.ts";
import { defineHandler } from "../../src/handler/define.ts";
import { giveUp, retryLater } from "../../src/handler/intents.ts";
import { type BatchCallSeen, batchHandler, LONG } from "../helpers/batch-handler.ts";
import { deferred } from "../helpers/deferred.ts";
import { storedKey } from "../helpers/store/stored.ts";
import { firing, openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

describe("a handler with batch", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const submitAll = async (inputs: readonly unknown[]) => {
    const ids: string[] = [];
    for (const input of inputs) ids.push(await shop.submit(input));
    return ids;
  };

  it("gets what is there in one call, at most max tasks, in the order of the line; each has its own result", async () => {
    const { calls, handler } = batchHandler({ max: 4 });
    shop = await openWorkshop([handler]);
    const ids = await submitAll([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    await shop.worker();
    expect(await Promise.all(ids.map((id) => shop.answer(id)))).to.deep.equal([2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
    expect(calls.map(({ inputs }) => inputs)).to.deep.equal([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10],
    ]);
    expect(calls[0]?.tasks.map(({ id }) => id)).to.deep.equal(ids.slice(0, 4));
    expect(new Set(calls.flatMap(({ tasks }) => tasks.map(({ fence }) => fence))).size).to.equal(10);
  });

  it("begins at once when any of its tasks has been in line that long before it was taken", async () => {
    const { calls, handler } = batchHandler({ max: 3, wait: LONG });
    shop = await openWorkshop([handler]);
    const old = await shop.submit(1);
    const urgent = await shop.submit(2, { priority: 0 });
    // As if it had been submitted a minute ago: the place in a plain line is the time, sixteen a millisecond.
    const line = storedKey(shop.engine.keys.tag(0), "waiting", "many");
    await (await shop.redis()).zincrby(line, -16 * 60_000, old);
    await shop.worker();
    await Promise.all([urgent, old].map((id) => shop.ended(id)));
    expect(calls.map(({ inputs }) => inputs)).to.deep.equal([[2, 1]]);
  });

  it("begins at once with what it has when its worker stops", async () => {
    const { sizes, handler } = batchHandler({ max: 3, wait: LONG });
    shop = await openWorkshop([handler]);
    const worker = await shop.worker({ drainTimeoutMs: 30_000 });
    const ids = await submitAll([1, 2]);
    await Promise.all(ids.map((id) => shop.ended(id, "running")));
    await worker.stop();
    expect(sizes()).to.deep.equal([2]);
    for (const id of ids) expect((await shop.look(id)).state).to.equal("succeeded");
  });

  it("has as many calls at once as concurrency says", async () => {
    const gate = deferred();
    const { calls, sizes, handler } = batchHandler({ max: 2 }, ({ inputs }) => gate.promise.then(() => inputs), {
      concurrency: 2,
    });
    shop = await openWorkshop([handler]);
    const ids = await submitAll([1, 2, 3, 4, 5, 6]);
    await shop.worker();
    await shop.ended(ids[3] ?? "", "running");
    await eventually(() => calls.length === 2);
    expect((await shop.look(ids[4] ?? "")).index).to.equal(0);
    gate.resolve();
    await Promise.all(ids.map((id) => shop.ended(id)));
    expect(sizes()).to.deep.equal([2, 2, 2]);
  });

  it("ends each task as its answer says: a value, an error, an intent, a promise, nothing", async () => {
    const answers = [
      "fine",
      new Error("no memory"),
      giveUp({ status: 422, title: "Not a word" }),
      retryLater("1h"),
      Promise.resolve("later"),
      Promise.reject(new Error("rejected")),
      undefined,
      Buffer.from("bytes"),
    ];
    for (const answer of answers) if (answer instanceof Promise) answer.catch(() => undefined);
    const { handler } = batchHandler({ max: answers.length, wait: LONG }, () => answers);
    shop = await openWorkshop([handler]);
    await shop.worker();
    const ids = await submitAll(answers.map((_, n) => n));
    const states = [
      "succeeded",
      "failed",
      "failed",
      "retrying",
      "succeeded",
      "failed",
      "succeeded",
      "succeeded",
    ] as const;
    const ended = await Promise.all(ids.map((id, n) => shop.ended(id, states[n])));
    expect(await shop.answer(ids[0] ?? "")).to.equal("fine");
    expect(await shop.answer(ids[4] ?? "")).to.equal("later");
    expect(ended[1]?.errors[0]).to.contain("no memory");
    expect(ended[2]?.result?.status).to.equal(422);
    expect(ended[3]?.attempts).to.equal(0);
    expect(ended[5]?.errors[0]).to.contain("rejected");
    expect(ended[6]?.result?.status).to.equal(204);
    expect(ended[7]?.result?.contentType).to.equal("application/octet-stream");
  });

  it("fails all its tasks, as attempts, when it throws or returns an array of another length", async () => {
    const answers = [
      () => {
        throw new Error("out of order");
      },
      () => [1],
      () => "no array",
      ({ inputs }: BatchCallSeen) => inputs,
    ];
    const { calls, handler } = batchHandler({ max: 2, wait: LONG }, (call) => answers[calls.length - 1]?.(call), {
      attempts: 9,
    });
    shop = await openWorkshop([handler]);
    await shop.worker();
    const ids = await submitAll([1, 2]);
    for (const id of ids) expect(await shop.ended(id)).to.include({ state: "succeeded", attempts: 4 });
    const failures = shop.log.flatMap(({ msg, err }) => (msg === "the attempt failed" ? [JSON.stringify(err)] : []));
    for (const reason of ["out of order", "expected 2, got an array of 1", "expected 2, got string"])
      expect(failures.filter((failure) => failure.includes(reason)).length, reason).to.equal(2);
  });

  it("is not called with an input that the schema refuses: only that task fails", async () => {
    const seen: unknown[][] = [];
    const ids: string[][] = [];
    const handler = defineHandler({
      queue: "many",
      attempts: 1,
      concurrency: 1,
      input: z.number(),
      batch: { max: 3, wait: LONG },
      run: (inputs, tasks) => {
        seen.push(inputs);
        ids.push(tasks.map(({ id }) => id));
        return inputs.map((input) => -input);
      },
    });
    shop = await openWorkshop([handler]);
    await shop.worker();
    const [one = "", wrong = "", two = ""] = await submitAll([1, "two", 2]);
    expect([await shop.answer(one), await shop.answer(two)]).to.deep.equal([-1, -2]);
    expect((await shop.ended(wrong)).state).to.equal("failed");
    expect([seen, ids]).to.deep.equal([[[1, 2]], [[one, two]]]);
  });

  it("has the signal of a canceled task fire alone; one that has not begun is left out of the call", async () => {
    const gate = deferred();
    const { calls, handler } = batchHandler({ max: 3, wait: LONG }, ({ inputs }) => gate.promise.then(() => inputs));
    shop = await openWorkshop([handler]);
    await shop.worker();
    const [early = ""] = await submitAll([0]);
    await shop.ended(early, "running");
    await shop.engine.call("cancel", { id: early, queue: "many" });
    await shop.ended(early, "canceled");
    const [one = "", two = ""] = await submitAll([1, 2]);
    await eventually(() => calls.length === 1);
    expect(calls[0]?.inputs).to.deep.equal([1, 2]);
    const [kept, stopped] = calls[0]?.tasks ?? [];
    if (!kept || !stopped) throw new Error("two tasks were expected");
    await shop.engine.call("cancel", { id: two, queue: "many" });
    expect(await firing(stopped.signal)).to.equal("canceled");
    expect(kept.signal.aborted).to.equal(false);
    gate.resolve();
    expect(await shop.answer(one)).to.equal(1);
    expect((await shop.ended(two)).state).to.equal("canceled");
  });

  it("keeps the progress, output, steps and log lines of each task apart", async () => {
    const { handler } = batchHandler({ max: 2, wait: LONG }, ({ inputs, tasks }) =>
      Promise.all(
        tasks.map(async (task, n) => {
          task.progress(10 * Number(inputs[n]));
          await task.write({ of: inputs[n] });
          task.log.info("seen");
          return await task.step("half", () => Number(inputs[n]) / 2);
        }),
      ),
    );
    shop = await openWorkshop([handler]);
    await shop.worker();
    const ids = await submitAll([2, 6]);
    expect(await Promise.all(ids.map((id) => shop.answer(id)))).to.deep.equal([1, 3]);
    const lines = shop.log.filter(({ msg }) => msg === "seen");
    expect(lines.map(({ requestId }) => requestId)).to.deep.equal(ids);
  });

  it("ends all its tasks at the timeout", async () => {
    const { handler } = batchHandler(
      { max: 2, wait: LONG },
      ({ tasks }) => Promise.all(tasks.map(({ signal }) => firing(signal))),
      { timeout: "50ms" },
    );
    shop = await openWorkshop([handler]);
    await shop.worker();
    for (const id of await submitAll([1, 2])) expect((await shop.ended(id)).errors[0]).to.contain("longer than 50 ms");
  });

  it("runs a task that has lost a worker in a call of its own", async () => {
    const { calls, handler } = batchHandler({ max: 3, wait: "20ms" }, undefined, { concurrency: 2 });
    shop = await openWorkshop([handler]);
    const [lost = ""] = await submitAll([1]);
    const settings = shop.engine.queues.settings("many");
    const { tasks } = await shop.engine.leases.reserve({
      ...{ queue: "many", worker: "gone", reservation: "1", count: 1, leaseMs: 1000, rate: undefined },
    });
    const fence = tasks[0]?.fence ?? "";
    await shop.engine.call("lose", { ...lossOf(settings), queue: "many", id: lost, fence });
    const rest = await submitAll([2, 3]);
    await shop.worker();
    await Promise.all([lost, ...rest].map((id) => shop.ended(id)));
    expect(calls.map(({ inputs }) => inputs)).to.deep.include([1]);
  });

  it("counts one service time for each call", async () => {
    const { handler } = batchHandler({ max: 5, wait: LONG });
    shop = await openWorkshop([handler]);
    await shop.worker();
    const ids = await submitAll([1, 2, 3, 4, 5]);
    const ended = await Promise.all(ids.map((id) => shop.ended(id)));
    expect(Math.max(...ended.map(({ snapshot }) => snapshot.samples))).to.equal(1);
  });
});
