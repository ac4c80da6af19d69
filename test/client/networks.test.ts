import { expect } from "chai";
import { PaihaoClient, PaihaoError, TaskFailed } from "paihao/client";
import type * as handlers from "../fixtures/handlers/client/handlers.ts";
import { closedGate } from "../helpers/gates.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { failure } from "./failure.ts";
import { proxiedClient } from "./proxied-client.ts";

describe("the client on bad networks", () => {
  const to = proxiedClient();

  const submissions = () => to.proxy.seen.filter(({ method }) => method === "PUT" || method === "POST");

  for (const id of [undefined, "chosen"]) {
    it(`submits again after a lost answer, ${id ? "under the caller's id" : "under its own id"}, and runs once`, async () => {
      const gate = closedGate();
      const ended = async () => (await to.server.send("/v1/queues/gated/finished")).json.items.length;
      const before = await ended();
      to.proxy.treat(({ method }) => (method !== "GET" && submissions().length < 3 ? "lose" : "pass"));
      const task = await to.client.submit("gated", gate.input, id ? { id } : {});
      expect(submissions()).to.have.length(3);
      expect(task.replayed).to.equal(true);
      if (id) expect(task.id).to.equal(id);
      gate.open("done");
      expect(await to.client.result(task)).to.equal("done");
      expect(await ended()).to.equal(before + 1);
    });
  }

  it("submits again under an Idempotency-Key, and recognizes a task that has ended meanwhile", async () => {
    to.proxy.treat(({ method }) => (method === "POST" && submissions().length === 1 ? "lose" : "pass"));
    const task = await to.client.submit("greet", { name: "Ada" }, { idempotencyKey: "once-only" });
    expect(await to.client.result(task)).to.have.property("greeting", "Hello, Ada");
    const again = await to.client.submit("greet", { name: "Ada" }, { idempotencyKey: "once-only" });
    expect(again).to.include({ id: task.id, state: "succeeded", replayed: true, index: null });
    const failed = await to.client.submit("refusing", { status: 422 }, { id: "failed-before" });
    await failure(to.client.result(failed));
    expect((await to.client.submit("refusing", { status: 422 }, { id: "failed-before" })).state).to.equal("failed");
  });

  it("asks again if an answer breaks off", async () => {
    to.proxy.treat(() => (to.proxy.seen.length % 2 === 1 ? "break" : "pass"));
    const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => n % 251);
    const result = await to.client.run("mirror", bytes);
    expect(Buffer.from(result).equals(Buffer.from(bytes.toReversed()))).to.equal(true);
  });

  it("waits as long as Retry-After says, and a little longer", async () => {
    const busy = { status: 503, headers: { "Retry-After": "1" }, body: "<h1>Service Unavailable</h1>" };
    to.proxy.treat(() => (to.proxy.seen.length === 1 ? busy : "pass"));
    await to.client.submit("greet", { name: "Ada" });
    const [first, second] = to.proxy.seen;
    const pausedMs = (second?.atMs ?? 0) - (first?.atMs ?? 0);
    expect(pausedMs).to.be.within(995, 5000);
  });

  for (const [name, body] of [
    ["HTML", "<h1>Service Unavailable</h1>"],
    ["a problem", JSON.stringify({ type: "about:blank", title: "Service Unavailable", status: 503 })],
  ]) {
    it(`tries again where a proxy answers 503 with ${name}`, async () => {
      const busy = { status: 503, headers: { "Retry-After": "0" }, body: body ?? "" };
      to.proxy.treat(() => (to.proxy.seen.length === 1 ? busy : "pass"));
      await to.client.submit("greet", { name: "Ada" });
      expect(submissions()).to.have.length(2);
    });
  }

  it("sends a request that is not idempotent only once", async () => {
    to.proxy.treat(() => "lose");
    for (const method of ["POST", "post", "PATCH"]) {
      const begun = to.proxy.seen.length;
      expect(await failure(to.client.request("/v1/queues/greet/pause", { method }))).to.include({
        kind: "unreachable",
      });
      expect(to.proxy.seen.length - begun, method).to.equal(1);
    }
  });

  it("does not try again if that cannot help, and reports what the server said", async () => {
    const problem = { type: "/problems/queue-full", title: "The queue is full", status: 503 };
    const full = { status: 503, headers: { "Retry-After": "7" }, body: JSON.stringify(problem) };
    to.proxy.treat(() => full);
    const error = await failure(to.client.submit("greet", { name: "Ada" }));
    expect(error).to.include({ kind: "refused", code: "queue-full", retryAfter: 7 });
    expect(to.proxy.seen).to.have.length(1);
    to.proxy.treat(() => ({ status: 429, headers: { "Retry-After": "3600" }, body: "" }));
    expect(await failure(to.client.queues())).to.include({ kind: "refused", retryAfter: 3600 });
    expect(to.proxy.seen).to.have.length(2);
    const many = { type: "/problems/too-many-tasks", title: "The caller has too many tasks", status: 429, limit: 20 };
    to.proxy.treat(() => ({ status: 429, headers: { "Retry-After": "1" }, body: JSON.stringify(many) }));
    const refused = await failure(to.client.submit("greet", { name: "Ada" }));
    expect(refused).to.deep.include({ kind: "refused", code: "too-many-tasks", retryAfter: 1, problem: many });
    expect(to.proxy.seen).to.have.length(3);
  });

  it("gives up on a server that cannot be reached, or is not a Paihao server", async () => {
    const nobody = new PaihaoClient({ url: `http://127.0.0.1:${await reservePort()}`, attempts: 2 });
    expect(await failure(nobody.submit("greet", 1)))
      .to.be.instanceOf(PaihaoError)
      .and.include({ kind: "unreachable" });
    expect(await failure(nobody.watch("some-id").next())).to.include({ kind: "unreachable" });
    const brief = new PaihaoClient({ url: to.proxy.url, attempts: 2 });
    to.proxy.treat(() => ({ status: 502, body: "<html>" }));
    expect(await failure(brief.queues())).to.include({ kind: "unreachable" });
    to.proxy.treat(() => ({ status: 404, body: "<html>" }));
    expect(await failure(brief.queues())).to.include({ kind: "refused" });
    to.proxy.treat(() => ({ status: 200, body: "<html>" }));
    expect(await failure(brief.queues())).to.include({ kind: "unreachable" });
  });

  it("stops trying when it is aborted", async () => {
    to.proxy.treat(() => "hang");
    const abort = new AbortController();
    const hanging = to.client.submit("greet", { name: "Ada" }, { signal: abort.signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    abort.abort(new Error("enough"));
    expect(String(await failure(hanging))).to.equal("Error: enough");
  });

  it("continues after the last event when a stream is cut", async () => {
    const gate = closedGate();
    const input = { words: ["one", "two"], gate: gate.name };
    const heard: unknown[] = [];
    const seen: string[] = [];
    const running = to.client.run("words", input, {
      onUpdate: ({ state }) => seen.push(state),
      onOutput: (data) => {
        heard.push(data);
        if (heard.length === 2) to.proxy.cut("/events");
      },
      id: "cut-short",
    });
    await eventually(async () => to.proxy.seen.some(({ headers }) => headers["last-event-id"] !== undefined));
    gate.open();
    expect(await running).to.equal(2);
    expect(heard).to.deep.equal(input.words);
    expect(new Set(seen).size).to.equal(seen.length);
    expect(to.proxy.seen.some(({ url }) => url.includes("/status"))).to.equal(false);
  });

  it("uses long polls if a proxy answers in place of the event stream, or resets it", async () => {
    const impatient = new PaihaoClient<typeof handlers>({ url: to.proxy.url, attempts: 1 });
    for (const events of [{ status: 502, body: "<html>" }, { status: 406, body: "" }, "reset"] as const) {
      to.proxy.treat(({ url }) => (url.includes("/events") ? events : "pass"));
      const gate = closedGate();
      const states: string[] = [];
      const running = impatient.run("gated", gate.input, {
        onUpdate: ({ state }) => {
          states.push(state);
          if (state === "running") gate.open("through");
        },
      });
      expect(await running).to.equal("through");
      expect(states.at(-1)).to.equal("succeeded");
    }
  });

  it("learns by polls of a task that is due much later", async () => {
    to.proxy.treat(({ url }) => (url.includes("/events") ? "reset" : "pass"));
    const task = await to.client.submit("greet", { name: "Ada" }, { delay: "1h" });
    const watched = to.client.watch(task);
    expect((await watched.next()).value).to.have.property("state", "scheduled");
    await to.client.cancel(task);
    expect((await watched.next()).value).to.have.property("state", "canceled");
  });

  it("goes back to the events when the server is back", async () => {
    const streams = () => to.proxy.seen.filter(({ url }) => url.includes("/events"));
    to.proxy.treat(({ url }) => (url.includes("/events") && streams().length === 2 ? "reset" : "pass"));
    const gate = closedGate();
    const heard: unknown[] = [];
    const running = to.client.run(
      "words",
      { words: ["one"], gate: gate.name },
      {
        onOutput(data) {
          heard.push(data);
          to.proxy.cut("/events");
        },
      },
    );
    await eventually(async () => streams().length === 3);
    gate.open();
    expect(await running).to.equal(1);
    expect(heard).to.deep.equal(["one"]);
    expect(to.proxy.seen.some(({ url }) => url.includes("/status"))).to.equal(true);
  });

  it("recognizes a failed task even if a proxy removes the headers that say so, but takes no success without them for a result", async () => {
    for (const events of ["strip", { status: 406 }] as const) {
      to.proxy.treat(({ url }) => (url.includes("/events") ? events : "strip"));
      for (const status of [422, 429, 503, 404]) {
        const { id } = await to.client.submit("refusing", { status });
        for (const attempt of [() => to.client.run("refusing", { status }), () => to.client.result(id)]) {
          expect(await failure(attempt()))
            .to.be.instanceOf(TaskFailed)
            .and.have.nested.property("problem.reason", "test");
        }
        expect(await to.client.submit("refusing", { status }, { id: `stripped-${status}` })).to.have.property("id");
        await failure(to.client.result(`stripped-${status}`));
        const again = await to.client.submit("refusing", { status }, { id: `stripped-${status}` });
        expect(again).to.include({ id: `stripped-${status}`, state: "failed" });
      }
      const bytes = Uint8Array.of(1, 2, 3);
      const hasty = new PaihaoClient({ url: to.proxy.url, attempts: 1 });
      for (const attempt of [() => hasty.run("mirror", bytes, { id: "stripped" }), () => hasty.result("stripped")])
        expect(await failure(attempt())).to.have.property("kind", "unreachable");
    }
  });

  it("uses long polls if a proxy buffers events and cuts long requests", async function () {
    this.timeout(60_000);
    to.proxy.treat(({ url }) => (/events|status|output/.test(url) ? { keepMs: 1500 } : "pass"));
    const [first, second] = [closedGate(), closedGate()];
    const blocking = await to.client.submit("gated", first.input);
    const states: string[] = [];
    const running = to.client.run("gated", second.input, {
      onUpdate: ({ state }) => {
        states.push(state);
        if (state === "waiting") first.open();
        if (state === "running") second.open("through");
      },
    });
    expect(await running).to.equal("through");
    expect(states.at(0)).to.equal("waiting");
    expect(states.at(-1)).to.equal("succeeded");
    const polls = to.proxy.seen.filter(({ url }) => url.includes("/status"));
    expect(polls.some(({ headers }) => headers["if-none-match"] !== undefined)).to.equal(true);
    await to.client.result(blocking);

    const gate = closedGate();
    const heard: unknown[] = [];
    const spoken = to.client.run(
      "words",
      { words: ["a", "b"], gate: gate.name },
      { onOutput: (data) => heard.push(data) && heard.length === 2 && gate.open() },
    );
    expect(await spoken).to.equal(2);
    expect(heard).to.deep.equal(["a", "b"]);
  });
});
