import { expect } from "chai";
import { eventually } from "../../shared/eventually.ts";
import { field, startGateways, startUpstream } from "../gateway/gateway.ts";
import { startReceiver } from "../webhooks/receiver.ts";

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const tracestate = "vendor=1";
const TRACE = { traceparent, tracestate };

/** Without a collector the server makes no spans of its own, but what belongs together for others still does. */
describe("the trace context of a submission, without a collector", () => {
  const HANDLERS = `
    const run = (input, task) => ({ attempt: task.attempt, headers: task.traceHeaders });
    export const plain = defineHandler({ queue: "plain", run });
    export const fair = defineHandler({ queue: "fair", fair: true, run });
    export const keyed = defineHandler({ queue: "keyed", keyed: { by: () => "k" }, run });
    export const both = defineHandler({ queue: "both", fair: true, keyed: { by: () => "k" }, run });
    export const twice = defineHandler({
      queue: "twice", backoff: { base: "1ms", max: "1ms" },
      run: (input, task) => { if (task.attempt === 1) throw new Error("again"); return run(input, task); },
    });
    const undone = [];
    export const undo = defineHandler({
      queue: "undo",
      run: (input, task) => task.step("book", () => 1),
      undo: { book: (value, { task }) => void undone.push(task.traceHeaders) },
    });
    export const seen = defineHandler({ queue: "seen", run: () => undone });
    export const remote = defineHandler({ queue: "remote", concurrency: 0, run });
  `;
  let upstream: Awaited<ReturnType<typeof startUpstream>>;
  let server: Awaited<ReturnType<typeof startGateways>>;
  before(async () => {
    upstream = await startUpstream();
    const gateway = `export const api = defineGateway({ queue: "api", target: "http://127.0.0.1:${upstream.port}" });`;
    server = await startGateways(`${HANDLERS}\n${gateway}`, { WEBHOOK_ALLOW: "127.0.0.1" });
  });
  after(async () => {
    await server.stop();
    await upstream.close();
  });

  for (const queue of ["plain", "fair", "keyed", "both", "twice"]) {
    it(`reaches the handler of a ${queue} queue`, async () => {
      const { json } = await server.post(queue, 1, TRACE);
      expect(json).to.deep.equal({ attempt: queue === "twice" ? 2 : 1, headers: TRACE });
      expect((await server.post(queue, 1)).json.headers).to.deep.equal({});
      const invalid = await server.post(queue, 1, { traceparent: "00-0-0-0", tracestate });
      expect(invalid.json.headers).to.deep.equal({});
    });
  }

  it("does not make a repeated submission a different one", async () => {
    const id = { "X-Request-Id": "once" };
    await server.post("plain", 1, { ...TRACE, ...id });
    const other = traceparent.replace("4bf9", "ffff");
    const again = await server.post("plain", 1, { traceparent: other, ...id });
    expect(again.json.headers).to.deep.equal(TRACE);
  });

  it("is that of the request for all lines of a batch", async () => {
    const headers = { "Content-Type": "application/x-ndjson", ...TRACE };
    const batch = await server.send("/v1/queues/plain/batches", { method: "POST", headers, body: "1\n2\n" });
    for (const line of batch.text.trim().split("\n")) {
      const { href } = JSON.parse(line) as { href: string };
      const id = href.split("/").at(-1) ?? "";
      await server.until(id, "succeeded");
      expect((await server.send(href)).json.headers).to.deep.equal(TRACE);
    }
  });

  it("is sent to a webhook", async () => {
    const receiver = await startReceiver();
    try {
      const search = `?webhook=${encodeURIComponent(receiver.url)}`;
      await server.send(`/v1/queues/plain/requests${search}`, { method: "POST", headers: TRACE, body: 1 });
      const [event] = await receiver.count(1);
      expect(event?.headers).to.include(TRACE);
      await server.enqueue("plain", 1, search);
      const [, plain] = await receiver.count(2);
      expect(plain?.headers).to.not.have.any.keys("traceparent", "tracestate");
    } finally {
      await receiver.close();
    }
  });

  it("is sent to the API behind a gateway", async () => {
    await server.send("/v1/gateway/api/x", { headers: TRACE });
    const [request] = upstream.to("/x");
    expect(request && [field(request, "traceparent"), field(request, "tracestate")]).to.deep.equal(
      Object.values(TRACE),
    );
  });

  it("is sent to that API without its invalid parts", async () => {
    await server.send("/v1/gateway/api/state", { headers: { traceparent, tracestate: "no list" } });
    await server.send("/v1/gateway/api/parent", { headers: { traceparent: "00-0-0-0", tracestate } });
    const sent = ["/state", "/parent"].flatMap((path) => upstream.to(path));
    expect(sent.map((request) => [field(request, "traceparent"), field(request, "tracestate")])).to.deep.equal([
      [traceparent, undefined],
      [undefined, undefined],
    ]);
  });

  it("reaches the undo of a step", async () => {
    const { headers } = await server.post("undo", 1, TRACE);
    const at = `/v1/requests/${String(headers["x-request-id"])}`;
    await server.send(at, { method: "DELETE" });
    await eventually(async () => expect((await server.post("seen", 1)).json).to.deep.equal([TRACE]));
  });

  it("is part of a lease over HTTP, also if that is requested again", async () => {
    await server.send("/v1/queues/remote/requests", {
      method: "POST",
      headers: { ...TRACE, Prefer: "respond-async" },
      body: 1,
    });
    await server.enqueue("remote", 2);
    const take = () =>
      server.send("/v1/queues/remote/leases", {
        method: "POST",
        headers: { "X-Request-Id": "take" },
        body: { count: 2 },
      });
    for (const taken of [await take(), await take()]) {
      const [first, second] = taken.json.items;
      expect(first).to.include(TRACE);
      expect(second).to.include({ traceparent: null, tracestate: null });
    }
  });
});
