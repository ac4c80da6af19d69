import { expect } from "chai";
import { defineHandler, giveUp, retryLater } from "paihao";
import { AttemptFailed, runHandler } from "paihao/testing";
import { z } from "zod";
import { thrownBy } from "../handlers/context.ts";

const failure = async (work: Promise<unknown>): Promise<AttemptFailed> => {
  const thrown = await thrownBy(() => work);
  if (!(thrown instanceof AttemptFailed)) throw thrown;
  return thrown;
};

describe("runHandler", () => {
  const order = defineHandler({
    queue: "order",
    input: z.object({ item: z.string(), count: z.int().min(1).default(1) }),
    async run({ item, count }, task) {
      task.progress(10, "reserving");
      const place = await task.step("reserve", () => `${item} × ${count}`);
      void task.write({ place });
      task.log.info({ place }, "reserved");
      await task.step("pay", () => {
        if (item === "nothing") throw new Error("no money");
        return { paid: true };
      });
      task.progress(250);
      return { place, attempt: task.attempt, at: task.submittedAt };
    },
  });

  it("runs one attempt and returns its result, progress, output, steps and log", async () => {
    const submittedAt = new Date("2026-01-02T03:04:05Z");
    const run = await runHandler(order, { item: "tea", count: 2 }, { submittedAt });
    expect(run).to.deep.equal({
      // As it is after JSON.
      result: { place: "tea × 2", attempt: 1, at: "2026-01-02T03:04:05.000Z" },
      progress: [
        { percent: 10, message: "reserving" },
        { percent: 100, message: "" },
      ],
      output: [{ place: "tea × 2" }],
      steps: { reserve: "tea × 2", pay: { paid: true } },
      log: [{ level: "info", msg: "reserved", place: "tea × 2", requestId: "test" }],
    });
  });

  it("resumes from the steps of an attempt that failed", async () => {
    const failed = await failure(runHandler(order, { item: "nothing", count: 1 }));
    expect(failed).to.include({ message: "no money", state: "retrying", retryMs: 500, problem: undefined });
    expect(failed.cause).to.be.instanceOf(Error).with.property("message", "no money");
    expect(failed.steps).to.deep.equal({ reserve: "nothing × 1" });
    const resumed = await runHandler(order, { item: "tea", count: 1 }, { steps: failed.steps, attempt: 2 });
    expect(resumed.result).to.include({ place: "nothing × 1", attempt: 2 });
  });

  it("says what becomes of the task: its last attempt, giveUp, retryLater", async () => {
    const last = await failure(runHandler(order, { item: "nothing", count: 1 }, { attempt: 3 }));
    expect(last).to.include({ state: "failed", retryMs: undefined });
    expect(last.problem).to.include({ status: 500, type: "/problems/task-failed" });

    const picky = defineHandler<string>({
      queue: "picky",
      run: (word) => {
        throw word === "later" ? retryLater("20s") : giveUp({ status: 422, title: "Not a word", word });
      },
    });
    expect((await failure(runHandler(picky, "xyzzy"))).problem).to.deep.equal({
      ...{ type: "/problems/task-failed", status: 422, title: "Not a word", word: "xyzzy" },
    });
    expect(await failure(runHandler(picky, "later"))).to.include({ state: "retrying", retryMs: 20_000 });
  });

  it("refuses an input that the schema refuses, and applies its defaults", async () => {
    // @ts-expect-error: an item is text
    expect(await failure(runHandler(order, { item: 5 }))).to.include({ state: "failed" });
    const { result } = await runHandler(order, { item: "tea" });
    // Typed as after JSON: `at` is text.
    const [place, at]: [string, string] = [result.place, result.at];
    expect(place).to.equal("tea × 1");
    expect(Date.parse(at)).to.be.a("number");
  });

  it("passes bytes in and out, and a Response with the headers that are kept", async () => {
    const reverse = defineHandler({
      queue: "reverse",
      consumes: ["image/png", "text/*"],
      run: (bytes: Uint8Array, task) =>
        task.query.as === "response"
          ? new Response(bytes.toReversed(), { status: 201, headers: { "content-type": task.mediaType, etag: '"1"' } })
          : bytes.toReversed(),
    });
    const input = new Uint8Array([1, 2, 3]);
    const bytes = (await runHandler(reverse, input)).result;
    expect([...(bytes instanceof Uint8Array ? bytes : [])]).to.deep.equal([3, 2, 1]);
    const { result } = await runHandler(reverse, input, { query: { as: "response" }, mediaType: "text/plain" });
    if (!(result instanceof Response)) throw new Error("no Response");
    expect([result.status, result.headers.get("content-type")]).to.deep.equal([201, "text/plain"]);
    expect([...new Uint8Array(await result.arrayBuffer())]).to.deep.equal([3, 2, 1]);
    const refused = await thrownBy(() => runHandler(reverse, input, { mediaType: "video/mp4" }));
    expect(refused).to.be.instanceOf(TypeError).with.property("message").that.contains("image/png, text/*");
  });

  it("tells nothing from nothing", async () => {
    const quiet = defineHandler({ queue: "quiet", run: () => undefined });
    expect(await runHandler(quiet, null)).to.have.property("result", undefined);
  });

  it("fires the signal at the timeout and when the test cancels, and waits only a little for the handler", async () => {
    const patient = defineHandler<{ deaf: boolean }>({
      queue: "patient",
      timeout: "50ms",
      run: ({ deaf }, { signal }) =>
        new Promise((_, reject) => {
          if (!deaf) signal.addEventListener("abort", () => reject(signal.reason));
        }),
    });
    expect(await failure(runHandler(patient, { deaf: false }))).to.include({
      ...{ state: "retrying", message: "took longer than 50 ms" },
    });
    expect(await failure(runHandler(patient, { deaf: true }))).to.include({ state: "retrying" });
    const canceled = await failure(runHandler(patient, { deaf: false }, { signal: AbortSignal.abort() }));
    expect(canceled).to.include({ state: "canceled", problem: undefined });
  });

  it("applies the limits of a server", async () => {
    const wordy = defineHandler<number>({ queue: "wordy", run: (length) => "x".repeat(length) });
    expect(await failure(runHandler(wordy, 17 * 1024 ** 2)))
      .to.have.property("message")
      .that.contains("MAX_RESULT");
  });
});
