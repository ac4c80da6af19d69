import path from "node:path";
import { expect } from "chai";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";
import { type Receiver, startReceiver } from "../webhooks/receiver.ts";
import { type Collector, type SentSpan, startCollector } from "./collector.ts";

const SENDER = "00f067aa0ba902b7";
let traces = 0;
/** The headers of a new trace. */
function newTrace(flags = "01"): { traceId: string; headers: { traceparent: string; tracestate: string } } {
  traces += 1;
  const traceId = `4bf92f3577b34da6a3ce929d${traces.toString(16).padStart(8, "0")}`;
  return { traceId, headers: { traceparent: `00-${traceId}-${SENDER}-${flags}`, tracestate: "vendor=1" } };
}

const named = (spans: readonly SentSpan[], name: string): SentSpan => {
  const found = spans.filter((span) => span.name === name);
  if (found.length !== 1) throw new Error(`${found.length} spans ${name} among ${spans.map((span) => span.name)}`);
  return found[0] as SentSpan;
};

/** The API in one process, the worker in another, and a collector for both. */
describe("traces", function () {
  this.timeout(60_000);
  let collector: Collector;
  let api: TestServer;
  let worker: ServerProcess;
  let receiver: Receiver;
  before(async () => {
    collector = await startCollector();
    receiver = await startReceiver();
    const common = {
      KEY_PREFIX: uniquePrefix(),
      HANDLERS: path.join(ROOT, "test/fixtures/handlers/traced"),
      WEBHOOK_ALLOW: "127.0.0.1",
      DRAIN_TIMEOUT: "2s",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-token=abc",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_RESOURCE_ATTRIBUTES: "team=test",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    };
    worker = await startProcess({ ...common, ROLE: "worker", TRACED_TARGET: new URL(receiver.url).origin });
    api = await startServer({ ...common, ROLE: "api" });
  });
  after(async () => {
    await endProcesses([worker]);
    await api.stop();
    await receiver.close();
    await collector.close();
  });

  it("lead from the submitter through the server and a worker in another process to the webhook", async () => {
    const { traceId, headers } = newTrace();
    const search = `?webhook=${encodeURIComponent(receiver.url)}`;
    const at = `/v1/queues/plain/requests${search}`;
    const answer = await api.send(at, { method: "POST", headers, body: 1 });
    const spans = await collector.trace(traceId, 6);
    const server = named(spans, "POST /v1/queues/:queue/requests");
    const run = named(spans, "process plain");
    const deliver = named(spans, "process paihao.webhooks");
    const post = named(spans, "POST");
    expect(server).to.include({ kind: "server", parentSpanId: SENDER, traceState: "vendor=1", failed: false });
    expect(server.facts).to.include({
      "http.request.method": "POST",
      "http.route": "/v1/queues/:queue/requests",
      "http.response.status_code": 200,
      "url.path": "/v1/queues/plain/requests",
      "url.scheme": "http",
      "messaging.system": "paihao",
      "messaging.destination.name": "plain",
      "messaging.message.id": String(answer.headers["x-request-id"]),
      "messaging.operation.name": "submit",
      "messaging.operation.type": "send",
      "paihao.verdict": "new",
    });
    for (const span of [named(spans, "wait plain"), run, named(spans, "wait paihao.webhooks"), deliver]) {
      expect(span.parentSpanId, span.name).to.equal(server.spanId);
    }
    const id = String(answer.headers["x-request-id"]);
    expect(run).to.include({ kind: "consumer", failed: false });
    expect(run.facts).to.include({
      "messaging.system": "paihao",
      "messaging.destination.name": "plain",
      "messaging.message.id": id,
      "paihao.task.attempt": 1,
      "paihao.task.end": "result",
      "paihao.task.verdict": "done",
    });
    expect(answer.json.headers).to.deep.equal({
      traceparent: `00-${traceId}-${run.spanId}-01`,
      tracestate: "vendor=1",
    });
    expect(post).to.include({ kind: "client", parentSpanId: deliver.spanId });
    expect(post.facts).to.include({ "http.response.status_code": 204, "server.address": "127.0.0.1" });
    const { origin } = new URL(receiver.url);
    expect(post.facts).to.include({ "url.scheme": "http", "url.full": `${origin}/REDACTED` });
    expect(post.facts["server.port"]).to.equal(Number(new URL(receiver.url).port));
    const [event] = await receiver.count(1);
    expect(event?.headers.traceparent).to.equal(`00-${traceId}-${post.spanId}-01`);
    expect(server.resource).to.include({ "service.name": "paihao", team: "test", "paihao.role": "api" });
    expect(server.resource).to.include({ "telemetry.sdk.name": "opentelemetry", "telemetry.sdk.language": "nodejs" });
    expect(server.resource["telemetry.sdk.version"]).to.match(/^\d+\.\d+/);
    expect(run.resource).to.include({ "paihao.role": "worker", "process.pid": worker.pid });
    for (const span of spans) expect(span.endMs, span.name).to.be.at.least(span.startMs);
    expect(collector.requests[0]?.headers).to.include({ "x-token": "abc", "content-encoding": "gzip" });
    expect(JSON.stringify(spans)).to.not.contain("webhook=");
  });

  it("show retries as further attempts, and each step once", async () => {
    const { traceId, headers } = newTrace();
    const answer = await api.post("twice", 1, headers);
    const spans = await collector.trace(traceId, 5);
    const attempts = spans.filter(({ name }) => name === "process twice").sort((a, b) => a.startMs - b.startMs);
    const [first, second] = attempts;
    expect(attempts.map(({ facts }) => facts["paihao.task.attempt"])).to.deep.equal([1, 2]);
    expect(new Set(attempts.map(({ parentSpanId }) => parentSpanId)).size).to.equal(1);
    expect(first).to.include({ failed: true, message: "not yet" });
    expect(first?.facts).to.include({ "error.type": "error", "paihao.task.verdict": "retrying" });
    expect(second).to.include({ failed: false });
    const step = named(spans, "step book");
    expect(step).to.include({ kind: "internal", parentSpanId: first?.spanId });
    expect(step.facts).to.include({ "paihao.step": "book:42" });
    expect(answer.json.headers.traceparent).to.equal(`00-${traceId}-${first?.spanId}-01`);
    expect(named(spans, "wait twice").endMs).to.be.at.most((first?.startMs ?? 0) + 1);
  });

  it("show what is undone", async () => {
    const { traceId, headers } = newTrace();
    await api.post("undone", 1, headers);
    const spans = await collector.trace(traceId, 7);
    const undo = named(spans, "process paihao.undo");
    expect(undo.parentSpanId).to.equal(named(spans, "POST /v1/queues/:queue/requests").spanId);
    expect(named(spans, "undo step")).to.include({ parentSpanId: undo.spanId });
    expect(named(spans, "process undone").facts).to.include({ "paihao.task.verdict": "dead" });
  });

  it("continue behind a gateway, and in a handler with its own thread", async () => {
    const { traceId, headers } = newTrace();
    const seen = receiver.received.length;
    await api.send("/v1/gateway/api/x", { headers });
    const spans = await collector.trace(traceId, 4);
    const get = named(spans, "GET");
    expect(get).to.include({ kind: "client", parentSpanId: named(spans, "process api").spanId });
    expect(receiver.received[seen]?.headers.traceparent).to.equal(`00-${traceId}-${get.spanId}-01`);
    const other = newTrace();
    const answer = await api.post("isolated", 1, other.headers);
    const run = named(await collector.trace(other.traceId, 3), "process isolated");
    expect(answer.json.headers.traceparent).to.equal(`00-${other.traceId}-${run.spanId}-01`);
  });

  it("are not recorded if the submitter says so, but passed on", async () => {
    const { traceId, headers } = newTrace("00");
    const answer = await api.post("plain", 1, headers);
    expect(answer.json.headers.traceparent).to.match(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    const { traceId: later, headers: sampled } = newTrace();
    await api.post("plain", 1, sampled);
    await collector.trace(later, 3);
    expect(collector.spans.filter((span) => span.traceId === traceId)).to.deep.equal([]);
  });

  it("begin with the request if it has no valid one, and lines of a batch share it", async () => {
    const invalid = await api.post("plain", 1, { traceparent: "00-0-0-00" });
    const traceId = String(invalid.json.headers.traceparent).split("-")[1] ?? "";
    expect(named(await collector.trace(traceId, 3), "POST /v1/queues/:queue/requests").parentSpanId).to.equal("");
    const batch = newTrace();
    const headers = { "Content-Type": "application/x-ndjson", ...batch.headers };
    await api.send("/v1/queues/plain/batches", { method: "POST", headers, body: "1\n2\n" });
    const spans = await collector.trace(batch.traceId, 5);
    const request = named(spans, "POST /v1/queues/:queue/batches");
    const runs = spans.filter(({ name }) => name === "process plain");
    expect(runs.map(({ parentSpanId }) => parentSpanId)).to.deep.equal([request.spanId, request.spanId]);
  });

  it("are named in log lines", async () => {
    const { traceId, headers } = newTrace();
    const answer = await api.post("twice", 1, headers);
    const [request] = api.log.filter(({ msg, trace_id }) => msg === "request" && trace_id === traceId);
    expect(request?.span_id).to.match(/^[0-9a-f]{16}$/);
    const id = answer.headers["x-request-id"];
    expect(request?.requestId).to.equal(id);
    const ofHandler = () => {
      const lines = worker.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
      return lines.filter(({ msg, trace_id }) => msg === "in the handler" && trace_id === traceId);
    };
    await eventually(() => ofHandler().length === 2);
    expect(ofHandler().map(({ requestId }) => requestId)).to.deep.equal([id, id]);
  });
});
