import path from "node:path";
import { expect } from "chai";
import { PaihaoClient, PaihaoError, TaskCanceled, TaskExpired, TaskFailed, TaskUnknown } from "paihao/client";
import type * as handlers from "../fixtures/handlers/client/handlers.ts";
import { closedGate } from "../helpers/gates.ts";
import { judgeFetched } from "../helpers/http/fetched.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { failure } from "./failure.ts";

describe("the client", () => {
  judgeFetched();
  let server: TestServer;
  let client: PaihaoClient<typeof handlers>;
  before(async () => {
    server = await startServer({ HANDLERS: path.join(import.meta.dirname, "../fixtures/handlers/client") });
    client = new PaihaoClient<typeof handlers>({ url: server.url });
  });
  after(() => server.stop());

  it("submits a task and gets its result", async () => {
    const task = await client.submit("greet", { name: "Ada" }, { query: { lang: "en" } });
    expect(task).to.include({ queue: "greet", replayed: false, href: `/v1/requests/${task.id}` });
    const { greeting, at, query } = await client.result(task);
    expect({ greeting, at, query }).to.deep.equal({
      greeting: "Hello, Ada",
      at: "1970-01-01T00:00:00.000Z",
      query: { lang: "en" },
    });
    expect(await client.result(task.id)).to.deep.equal(await client.result(task));
  });

  it("submits a task with a presence, which it is told", async () => {
    const { id } = await client.submit("greet", { name: "Ada" }, { delay: "1h", presence: "30m" });
    const { createdAt, presentUntil } = await client.status(id);
    // Each look begins it anew.
    const [least, most] = [Date.parse(createdAt) + 1_800_000, Date.now() + 1_800_000];
    expect(Date.parse(presentUntil ?? "")).to.be.within(least, most);
    await client.cancel(id);
  });

  it("runs a task and reports its place, its progress and its end", async () => {
    const [first, second] = [closedGate(), closedGate()];
    const blocking = client.run("gated", first.input);
    await first.entered;
    const seen: unknown[] = [];
    const running = client.run("gated", second.input, {
      onUpdate: (status) => {
        seen.push(status.state === "waiting" ? `${status.state} ${status.index}` : status.state);
        if (status.state === "waiting") first.open("one");
        if (status.state === "running") second.open({ two: 2 });
      },
    });
    expect(await blocking).to.equal("one");
    expect(await running).to.deep.equal({ two: 2 });
    expect(seen).to.deep.equal(["waiting 0", "running", "succeeded"]);
  });

  it("watches a task that somebody else has submitted", async () => {
    const gate = closedGate();
    const { id } = await client.submit("gated", gate.input);
    const states: string[] = [];
    for await (const status of client.watch(id)) {
      states.push(status.state);
      if (status.state === "running") gate.open();
    }
    expect(states.at(-2)).to.equal("running");
    expect(states.at(-1)).to.equal("succeeded");
    expect((await client.status(id)).state).to.equal("succeeded");
  });

  it("follows what a handler writes, even after its end", async () => {
    const gate = closedGate();
    const heard: unknown[] = [];
    const input = { words: ["one", "two", "three"], gate: gate.name };
    const running = client.run("words", input, {
      onOutput: (data, { seq, run }) => {
        heard.push([data, seq, run]);
        if (seq === 2) gate.open();
      },
      id: "spoken",
    });
    expect(await running).to.equal(3);
    const all = [
      ["one", 0, 1],
      ["two", 1, 1],
      ["three", 2, 1],
    ];
    expect(heard).to.deep.equal(all);
    const again: unknown[] = [];
    for await (const data of client.output("spoken")) again.push(data);
    expect(again).to.deep.equal(input.words);
  });

  it("cancels a task that waits, and one that runs", async () => {
    const gate = closedGate();
    const running = await client.submit("gated", gate.input);
    const waiting = await client.submit("gated", gate.input);
    await gate.entered;
    expect((await client.cancel(waiting))?.state).to.equal("canceled");
    expect((await client.cancel(running))?.cancelRequested).to.equal(true);
    for (const task of [waiting, running]) {
      const error = await failure(client.result(task));
      expect(error).to.be.instanceOf(TaskCanceled);
      expect(error).to.include({ kind: "canceled", code: "canceled" });
    }
    expect(await client.cancel(running)).to.equal(undefined);
  });

  it("cancels a run that is aborted or takes too long, unless it is detached", async () => {
    const gates = [closedGate(), closedGate(), closedGate()] as const;
    const abort = new AbortController();
    const aborted = client.run("gated", gates[0].input, { id: "aborted", signal: abort.signal });
    await gates[0].entered;
    abort.abort(new Error("changed my mind"));
    expect(String(await failure(aborted))).to.equal("Error: changed my mind");
    await server.until("aborted", "canceled");

    const late = client.run("gated", gates[1].input, { id: "late", timeout: "100ms" });
    expect(await failure(late)).to.have.property("name", "TimeoutError");
    await server.until("late", "canceled");

    const detached = client.run("gated", gates[2].input, { id: "detached", timeout: 100, detach: true });
    expect(await failure(detached)).to.have.property("name", "TimeoutError");
    await gates[2].entered;
    gates[2].open("it went on");
    expect(await client.result("detached")).to.equal("it went on");

    const before = AbortSignal.abort(new Error("too late"));
    expect(String(await failure(client.run("greet", { name: "x" }, { id: "never", signal: before })))).to.include(
      "too late",
    );
    expect(await failure(client.status("never"))).to.be.instanceOf(TaskUnknown);
  });

  it("throws the problem of a task that failed, whatever its status", async () => {
    for (const status of [422, 503, 404, 401]) {
      const error = await failure(client.run("refusing", { status }));
      expect(error).to.be.instanceOf(TaskFailed).and.instanceOf(PaihaoError);
      expect(error).to.include({ name: "TaskFailed", kind: "failed", message: "Not today: the handler refuses" });
      expect(error).to.have.nested.property("problem.reason", "test");
      const { id } = (error as TaskFailed).problem;
      expect(await failure(client.result(String(id)))).to.be.instanceOf(TaskFailed);
    }
    const error = await failure(client.run("broken", null));
    expect(error).to.include({ kind: "failed", code: "task-failed" });
  });

  it("throws the errors of an input, with pointers", async () => {
    const input = { name: "" };
    const error = await failure(client.submit("greet", input));
    expect(error).to.be.instanceOf(PaihaoError);
    expect(error).to.include({ kind: "refused", code: "invalid-input" });
    expect((error as PaihaoError).problem.errors?.[0]?.pointer).to.equal("#/name");
    const { errors = [] } = (error as PaihaoError).problem;
    expect((error as PaihaoError).message, "each once").to.equal(
      `The queue does not accept this input: ${errors.map(({ pointer, detail }) => `${pointer}: ${detail}`).join("; ")}`,
    );
  });

  it("distinguishes unknown tasks, expired results and unknown queues", async () => {
    expect(await failure(client.result("nobody")))
      .to.be.instanceOf(TaskUnknown)
      .and.have.property("kind", "unknown");
    expect(await failure(client.status("nobody"))).to.be.instanceOf(TaskUnknown);
    expect(await failure(client.cancel("nobody"))).to.be.instanceOf(TaskUnknown);
    expect(await failure(client.watch("nobody").next())).to.be.instanceOf(TaskUnknown);
    const { id } = await client.submit("brief", null);
    await eventually(async () => (await failure(client.result(id))) instanceof TaskExpired);
    const untyped = new PaihaoClient({ url: server.url });
    expect(await failure(untyped.submit("no-such-queue", 1))).to.include({ kind: "refused", code: "unknown-queue" });
  });

  it("quotes a place, and lists the queues", async () => {
    const quote = await client.quote("greet", { name: "Ada" });
    expect(quote).to.include({ queue: "greet", index: 0 });
    const names = (await client.queues()).map((queue) => queue.name);
    expect(names).to.include.members(["greet", "gated", "mirror"]);
  });
});
