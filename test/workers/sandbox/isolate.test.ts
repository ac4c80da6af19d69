import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { StartError } from "../../../src/errors.ts";
import { defineHandler } from "../../../src/handler/define.ts";
import { loadHandlers } from "../../../src/handler/load.ts";
import { createLog } from "../../../src/log.ts";
import { Worker } from "../../../src/workers/worker.ts";
import { processGone } from "../../helpers/process.ts";
import { replaceCall } from "../../helpers/replace-call.ts";
import { openWorkshop, passDeadline, type Workshop } from "../../helpers/workshop.ts";
import { eventually } from "../../shared/eventually.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/isolated");

describe("a handler that asks for isolate", function () {
  this.timeout(60_000);
  let shop: Workshop;
  let worker: Worker;
  let dir: string;

  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-isolated-"));
    shop = await openWorkshop([...(await loadHandlers(HANDLERS)).values()]);
    worker = await shop.worker({ handlersDir: HANDLERS });
  });
  after(async () => {
    await shop.close();
    await rm(dir, { recursive: true });
  });

  const submit = (deed: string, queue = "isolated") => shop.submit(deed, { queue });
  const line = async (id: string, msg: string) => {
    const found = () => shop.log.find((logged) => logged.requestId === id && logged.msg === msg);
    await eventually(() => found() !== undefined);
    return found();
  };
  /** A task that holds the CPU of its process until it is stopped. */
  const spinning = async () => {
    const file = path.join(dir, randomUUID());
    const id = await shop.submit("spin until told", { queue: "isolated", query: { file } });
    await shop.ended(id, "running");
    return { id, stop: () => writeFile(file, "") };
  };

  it("runs in a child process, which is used again", async () => {
    const first = (await shop.answer(await submit("where"))) as { pid: number };
    const second = await shop.answer(await submit("where"));
    expect(first.pid).to.not.equal(process.pid);
    expect(second).to.deep.equal(first);
  });

  it("writes output that can be read while it holds the CPU of its process", async () => {
    const id = await submit("writes and spins");
    const read = async () => (await shop.engine.outputs.read({ id, queue: "jobs" }, 0)).values.map(({ json }) => json);
    await eventually(async () => (await read()).length > 0);
    expect(await read()).to.deep.equal(['"before"']);
    await shop.engine.call("cancel", { id, queue: "isolated" });
    await shop.ended(id, "canceled");
  });

  it("continues after a value is refused as too long or not JSON", async () => {
    const id = await submit("writes too much");
    expect(await shop.answer(id)).to.contain("MAX_OUTPUT");
    const { values } = await shop.engine.outputs.read({ id, queue: "jobs" }, 0);
    expect(values.map(({ json }) => json)).to.deep.equal(['"first"', '"last"']);
  });

  it("returns what any handler may return", async () => {
    expect(await shop.answer(await submit("json"))).to.deep.equal({ grüße: "世界" });
    const bytes = (await shop.ended(await submit("bytes"))).result;
    expect([bytes?.contentType, [...(bytes?.body ?? [])]]).to.deep.equal(["application/octet-stream", [0, 255, 128]]);
    const response = (await shop.ended(await submit("response"))).result;
    expect(response).to.deep.include({ status: 201, contentType: "text/plain", headers: { "x-made-by": "me" } });
    expect(Buffer.from(response?.body ?? []).toString()).to.equal("made");
    expect((await shop.ended(await submit("nothing"))).result?.status).to.equal(204);
    const [error] = (await shop.ended(await submit("map"), "failed")).errors;
    expect(error).to.equal("the result is not JSON: a Map at #/found");
  });

  it("takes bytes, and JSON with the defaults of its schema", async () => {
    const input = Buffer.from([1, 2, 255]);
    const mediaType = "application/octet-stream";
    const id = await shop.submit(null, { queue: "isolated-bytes", input, mediaType });
    expect([...((await shop.ended(id)).result?.body ?? [])]).to.deep.equal([255, 2, 1]);
    expect(await shop.answer(await shop.submit({}, { queue: "isolated-checked" }))).to.deep.equal({ width: 7 });
    const unfit = await shop.ended(await shop.submit({ width: "x" }, { queue: "isolated-checked" }));
    expect(unfit).to.include({ state: "failed", attempts: 1 });
  });

  it("gets its task like any handler", async () => {
    const id = await shop.submit("task", { queue: "isolated", query: { q: "1" }, caller: "bob" });
    const { submittedAt, ...task } = (await shop.answer(id)) as Record<string, unknown>;
    expect(task).to.deep.equal({
      ...{ id, queue: "isolated", attempt: 1, maxAttempts: 2, fence: "number", query: { q: "1" }, caller: "bob" },
      mediaType: "application/json",
    });
    expect(Number.isNaN(Date.parse(String(submittedAt)))).to.equal(false);
  });

  it("can give up, retry later and fail like any handler", async () => {
    const { result, attempts } = await shop.ended(await submit("give up"));
    expect([result?.status, attempts]).to.deep.equal([422, 1]);
    expect(JSON.parse(String(Buffer.from(result?.body ?? [])))).to.deep.include({ title: "Not an image", hint: [1] });
    const later = await shop.ended(await submit("later"), "retrying");
    expect(Number(later.dueMs) - later.nowMs).to.be.within(29 * 60_000, 30 * 60_000);
    for (const [deed, message] of [
      ["error", "out of cheese"],
      ["undefined", "undefined"],
      ["bigint", "the result is not JSON: a BigInt"],
    ] as const) {
      const failed = await shop.ended(await submit(deed));
      expect(failed).to.include({ state: "failed", attempts: 2, errorCode: "task-failed" });
      expect(failed.errors).to.deep.equal([message, message]);
    }
  });

  it("has its errors logged, with type, stack and cause", async () => {
    const id = await submit("error");
    const { err } = (await line(id, "the attempt failed")) as { err: Record<string, string> };
    expect(err).to.include({ type: "TypeError", message: "out of cheese" });
    expect(err.stack).to.match(/isolated\/handlers\.ts[\s\S]*caused by: Error: the mouse/);
  });

  it("logs into the worker's log, with the task's id", async () => {
    const id = await submit("log");
    const logged = await line(id, "from the child");
    expect(logged).to.include({ level: 50, part: "deep", n: 7, queue: "isolated", attempt: 1 });
    expect(logged?.err).to.include({ type: "RangeError", message: "odd" });
    await shop.ended(id);
    const [left] = (await shop.engine.call("details", { id, queue: "isolated" }))?.logs ?? [];
    expect(JSON.parse(left?.log ?? "{}").log[0]).to.include({ level: "error" });
    expect(left?.log, "kept with the task").to.match(/from the child RangeError: odd/);
  });

  it("keeps its steps across attempts", async () => {
    expect(await shop.answer(await submit("steps"))).to.deep.equal({ first: { made: 1 }, again: [2] });
  });

  it("can use the CPU for longer than its lease without losing it or delaying others", async () => {
    const { id, stop } = await spinning();
    expect(await shop.answer(await submit("json"))).to.deep.equal({ grüße: "世界" });
    await shop.ranFor(id, 1.5 * shop.engine.queues.settings("isolated").leaseMs);
    expect((await shop.look(id)).state).to.equal("running");
    await stop();
    await shop.ended(id);
    expect(await shop.look(id)).to.include({ state: "succeeded", lost: 0, attempts: 1 });
  });

  it("shows its progress while it uses the CPU, sending few of very many reports", async () => {
    let sent = 0;
    const restore = replaceCall(shop.engine, "progress", (_, progress) => {
      sent += 1;
      return progress();
    });
    const id = await submit("flood");
    await eventually(async () => (await shop.look(id)).progress?.message === "still at it");
    await shop.ended(id);
    restore();
    expect(sent).to.be.below(30);
  });

  it("is asked to stop at the timeout, and is terminated if it does not", async () => {
    for (const deed of ["heeds its signal", "forever", "never settles"]) {
      const id = await submit(deed, "hurried");
      const seen = await shop.ended(id);
      expect(seen, deed).to.include({ state: "failed", errorCode: "task-timeout" });
      if (deed === "heeds its signal") {
        expect(await line(id, "asked to stop")).to.include({ cause: "timeout", name: "AbortError" });
      }
    }
    // A new process may take longer to start than its timeout, where the machine has much to do.
    await eventually(async () => {
      expect(await shop.answer(await submit("json", "hurried"))).to.deep.equal({ grüße: "世界" });
    });
  });

  it("is terminated if it is canceled and does not stop", async () => {
    const id = await submit("forever");
    await shop.ended(id, "running");
    await shop.engine.call("cancel", { id, queue: "isolated" });
    expect((await shop.ended(id)).state).to.equal("canceled");
    expect((await shop.look(id)).lost).to.equal(0);
  });

  it("learns of its deadline", async () => {
    const id = await shop.submit("heeds its signal", { queue: "isolated", deadlineMs: 3_600_000 });
    await shop.ended(id, "running");
    await passDeadline(shop, id);
    expect(await line(id, "asked to stop")).to.include({ cause: "deadline", name: "AbortError" });
    expect(await shop.ended(id)).to.include({ state: "canceled", errorCode: "deadline-passed" });
  });

  it("is dead after it has ended its process too often, or needed more memory than its limit", async () => {
    for (const deed of ["exit", "eats memory"])
      expect(await shop.ended(await submit(deed)), deed).to.include({
        ...{ state: "failed", errorCode: "worker-lost", lost: 2 },
      });
  });

  it("loses only an attempt by an uncaught error", async () => {
    const seen = await shop.ended(await submit("throws outside"));
    expect(seen).to.include({ state: "failed", attempts: 2, lost: 0 });
    expect(seen.errors[0]).to.equal("thrown outside");
  });

  it("loses nothing by a rejection that it does not handle, which is logged", async () => {
    const id = await submit("forgets a promise");
    expect(await shop.ended(id)).to.include({ state: "succeeded", attempts: 1 });
    const logged = await line(id, "a promise was rejected and nothing handled it; the process goes on");
    expect(logged?.err).to.include({ type: "Error", message: "forgotten" });
  });

  it("is not affected by what an earlier task left behind in its process", async () => {
    const reported: string[] = [];
    const restore = replaceCall(shop.engine, "progress", ({ id: of }, progress) => {
      reported.push(of);
      return progress();
    });
    const pid = await shop.answer(await submit("leaves a mess"));
    const id = await submit("outlasts a mess");
    expect(await shop.answer(id)).to.equal(pid);
    restore();
    expect(reported).to.not.include(id);
  });

  it("is undone in a child process too", async () => {
    const journal = path.join(dir, "journal");
    const id = await shop.submit({ journal }, { queue: "isolated-undone" });
    await eventually(() => shop.ended(`${id}:undo:isolated-undone`));
    const [, pid] =
      /^isolated-undone step 1 (\d+) \[{"name":"made","value":1}\] \1$/.exec(await readFile(journal, "utf8")) ?? [];
    expect(pid).to.be.a("string").and.not.equal(String(process.pid));
  });

  it("leaves no process behind, however many tasks there were, when the worker stops", async () => {
    const used = new Set<number>();
    for (let n = 0; n < 50; n += 1) used.add(((await shop.answer(await submit("where"))) as { pid: number }).pid);
    expect(used.size).to.be.at.most(2);
    await submit("forever");
    await eventually(() => shop.engine.queues.figures(["isolated"]).then(([row]) => row?.snapshot.running === 1));
    await worker.stop();
    for (const pid of used) await processGone(pid);
  });

  it("may set its memory limit, within bounds", () => {
    const define = (isolate: unknown) => defineHandler({ queue: "q", run: () => 1, isolate: isolate as boolean });
    expect(define(undefined).isolate).to.equal(undefined);
    expect(define(false).isolate).to.equal(undefined);
    expect(define(true).isolate).to.deep.equal({ memoryMb: 1024 });
    expect(define({ memoryMb: 64 }).isolate).to.deep.equal({ memoryMb: 64 });
    for (const wrong of [1, "yes", null, { memoryMb: 1 }, { memoryMb: "64mb" }]) {
      expect(() => define(wrong), String(wrong)).to.throw(TypeError, /isolate/);
    }
  });

  it("must be in a file, or the worker does not start", () => {
    const handler = defineHandler({ queue: "in-memory", isolate: true, run: () => 1 });
    const handlers = new Map([[handler.queue, handler]]);
    const log = createLog("silent");
    const make = () =>
      new Worker({ engine: shop.engine, handlers, log, maxResultBytes: 1, maxOutputBytes: 1, drainTimeoutMs: 0 });
    expect(make).to.throw(StartError, /"in-memory" asks for isolate.*files/);
  });
});
