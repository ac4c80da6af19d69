import { getEventListeners } from "node:events";
import { expect } from "chai";
import { deferred } from "../helpers/deferred.ts";
import { closedGate } from "../helpers/gates.ts";
import { eventually } from "../shared/eventually.ts";
import { failure } from "./failure.ts";
import { proxiedClient } from "./proxied-client.ts";

/** Less than an aborted run would wait for an answer that does not come. */
const AT_ONCE_MS = 2500;

describe("a run of the client that is aborted", () => {
  const to = proxiedClient();

  const enough = new Error("enough");
  const seen = (method: string, end: string) =>
    to.proxy.seen.filter((request) => request.method === method && request.url.endsWith(end));

  it("cancels what an aborted run was about to submit, and leaves it alone if it is detached", async () => {
    const gates = [closedGate(), closedGate()] as const;
    for (const [n, detach] of [false, true].entries()) {
      const { input } = gates[n] ?? gates[0];
      const abort = new AbortController();
      const late = deferred<void>();
      to.proxy.treat(({ method }) => {
        if (method !== "POST") return "pass";
        abort.abort(new Error("enough"));
        // By then the client has heard of it.
        setImmediate(late.resolve);
        return { lateAfter: late.promise };
      });
      const running = to.client.run("gated", input, { id: `in-flight-${n}`, signal: abort.signal, detach });
      expect(String(await failure(running))).to.equal("Error: enough");
      if (detach) gates[n]?.open("left alone");
      await to.server.until(`in-flight-${n}`, detach ? "succeeded" : "canceled");
    }
  });

  for (const id of [undefined, "unanswered"]) {
    it(`cancels at once what it submitted under ${id ? "the caller's id" : "an id of its own"} without an answer`, async () => {
      to.proxy.treat(({ method }) => (method === "PUT" || method === "POST" ? "mute" : "pass"));
      const gate = closedGate();
      const abort = new AbortController();
      const running = to.client.run("gated", gate.input, { ...(id && { id }), signal: abort.signal });
      const task = await gate.entered;
      const begun = performance.now();
      abort.abort(enough);
      expect(await failure(running)).to.equal(enough);
      expect(performance.now() - begun).to.be.below(AT_ONCE_MS);
      await to.server.until(task.id, "canceled");
    });
  }

  it("does not wait for a server that has stopped answering", async () => {
    const gate = closedGate();
    const abort = new AbortController();
    const running = to.client.run("gated", gate.input, { signal: abort.signal });
    await gate.entered;
    to.proxy.treat(() => "hang");
    const begun = performance.now();
    abort.abort(enough);
    expect(await failure(running)).to.equal(enough);
    expect(performance.now() - begun).to.be.below(AT_ONCE_MS);
    gate.open();
  });

  it("keeps the result of a task that has ended", async () => {
    to.proxy.treat(({ method, url }) => (method === "GET" && url.endsWith("/finished-task") ? "hang" : "pass"));
    const abort = new AbortController();
    const bytes = new Uint8Array(100_000);
    const running = to.client.run("mirror", bytes, { id: "finished-task", signal: abort.signal });
    await eventually(async () => seen("GET", "/finished-task").length === 1);
    abort.abort(enough);
    expect(await failure(running)).to.equal(enough);
    await eventually(async () => seen("GET", "/finished-task/status").length === 1);
    to.proxy.treat(() => "pass");
    expect(await to.client.result("finished-task")).to.have.length(bytes.length);
    expect(seen("DELETE", "/finished-task")).to.deep.equal([]);
  });

  it("cancels only a version of its task that has not ended", async () => {
    const gate = closedGate();
    const abort = new AbortController();
    const running = to.client.run("gated", gate.input, { id: "just-ended", signal: abort.signal });
    await gate.entered;
    const late = deferred<void>();
    to.proxy.treat(({ method }) => (method === "DELETE" ? { lateAfter: late.promise } : "pass"));
    abort.abort(enough);
    expect(await failure(running)).to.equal(enough);
    await eventually(async () => seen("DELETE", "/just-ended").length === 1);
    gate.open("in time");
    await to.server.until("just-ended", "succeeded");
    late.resolve();
    await eventually(async () => seen("GET", "/just-ended/status").length === 2);
    expect(await to.client.result("just-ended")).to.equal("in time");
    expect(seen("DELETE", "/just-ended")).to.have.length(1);
  });

  it("does not cancel a task that it shares by an idempotency key, unless told to", async () => {
    const gates = [closedGate(), closedGate()] as const;
    const idempotencyKey = "shared";
    const first = to.client.run("gated", gates[0].input, { idempotencyKey, timeout: "1s" });
    const second = to.client.run("gated", gates[0].input, { idempotencyKey });
    expect(await failure(first)).to.have.property("name", "TimeoutError");
    await gates[0].entered;
    gates[0].open("for both");
    expect(await second).to.equal("for both");

    const abort = new AbortController();
    const options = { idempotencyKey: "not shared", detach: false, signal: abort.signal };
    const alone = to.client.run("gated", gates[1].input, { ...options, idempotencyKey: "not-shared" });
    const { id } = await gates[1].entered;
    abort.abort(enough);
    expect(await failure(alone)).to.equal(enough);
    await to.server.until(id, "canceled");
  });

  it("leaves no listener on a signal that many share, and causes no warning of Node", async () => {
    const warnings: Error[] = [];
    const hear = (warning: Error) => warnings.push(warning);
    process.on("warning", hear);
    try {
      const { signal } = new AbortController();
      const running = Array.from({ length: 40 }, (_, n) =>
        to.client.run("greet", { name: `n${n}` }, { signal, timeout: "1m" }),
      );
      expect(getEventListeners(signal, "abort")).to.have.length(1);
      for (const { greeting } of await Promise.all(running)) expect(greeting).to.include("Hello");
      await failure(to.client.result("..", { signal }));
      await failure(to.client.run("greet", { name: "x" }, { signal, timeout: "soon" }));
      expect(getEventListeners(signal, "abort")).to.deep.equal([]);
      // A warning is said in the next tick.
      await new Promise(setImmediate);
      expect(warnings.filter(({ message }) => message.includes("AbortSignal"))).to.deep.equal([]);
    } finally {
      process.off("warning", hear);
    }
  });

  it("ends a batch that waits for its next input", async () => {
    const abort = new AbortController();
    async function* inputs() {
      yield { name: "first" };
      await new Promise(() => undefined);
    }
    const verdicts = to.client.batch("greet", inputs(), { signal: abort.signal });
    expect((await verdicts.next()).value).to.have.property("line", 0);
    const next = failure(verdicts.next());
    abort.abort(enough);
    expect(await next).to.equal(enough);
  });
});
