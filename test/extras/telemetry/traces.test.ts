import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { type Answer, exchange, type Sent } from "../../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { uniquePrefix } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";
import { ROOT } from "../../shared/root.ts";
import { type Receiver, startReceiver } from "../webhooks/receiver.ts";
import { type Collector, type SentSpan, startCollector } from "./collector.ts";

const CALLER = "00f067aa0ba902b7";
let traces = 0;
/** The headers of a new trace, as its caller sends them. */
function newTrace(flags = "01"): { traceId: string; headers: { traceparent: string; tracestate: string } } {
  traces += 1;
  const traceId = `4bf92f3577b34da6a3ce929d${traces.toString(16).padStart(8, "0")}`;
  return { traceId, headers: { traceparent: `00-${traceId}-${CALLER}-${flags}`, tracestate: "vendor=1" } };
}

const named = (spans: readonly SentSpan[], name: string): SentSpan => {
  const found = spans.filter((span) => span.name === name);
  if (found.length !== 1) throw new Error(`${found.length} spans ${name} among ${spans.map((span) => span.name)}`);
  return found[0] as SentSpan;
};

/** The API in one process, the worker in another, both with OpenTelemetry's SDK as docs/operations.md says, and a collector. */
describe("traces with deploy/otel.mjs", function () {
  this.timeout(60_000);
  let collector: Collector;
  let api: ServerProcess;
  let worker: ServerProcess;
  let receiver: Receiver;
  before(async () => {
    collector = await startCollector();
    receiver = await startReceiver();
    const common = {
      KEY_PREFIX: uniquePrefix(),
      HANDLERS: path.join(ROOT, "test/fixtures/handlers/traced"),
      WEBHOOK_ALLOW: "127.0.0.1",
      LOG_LEVEL: "info",
      NODE_OPTIONS: `--import=${pathToFileURL(path.join(ROOT, "deploy/otel.mjs")).href}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      ...{ OTEL_METRICS_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" },
    };
    const target = new URL(receiver.url).origin;
    [api, worker] = await Promise.all([
      startProcess({ ...common, ROLE: "api", PORT: "0", OTEL_SERVICE_NAME: "api" }),
      startProcess({ ...common, ROLE: "worker", OTEL_SERVICE_NAME: "worker", TRACED_TARGET: target }),
    ]);
  });
  after(async () => {
    await endProcesses([worker, api].filter((one) => one !== undefined));
    await receiver.close();
    await collector.close();
  });
  const send = (at: string, sent: Sent = {}): Promise<Answer> => exchange(new URL(at, api.url), sent);
  const post = (queue: string, headers: Sent["headers"] = {}, search = "") =>
    send(`/v1/queues/${queue}/requests${search}`, { method: "POST", headers, body: 1 });

  it("are one from the caller through the server and a worker in another process to the handler and the webhook", async () => {
    const { traceId, headers } = newTrace();
    const answer = await post("plain", headers, `?webhook=${encodeURIComponent(receiver.url)}`);
    const spans = await collector.trace(traceId, 5);
    const [server, sent] = [named(spans, "POST /v1/queues/:queue/requests"), named(spans, "send plain")];
    const [run, deliver] = [named(spans, "process plain"), named(spans, "process paihao.webhooks")];
    const id = String(answer.headers["x-request-id"]);
    expect(server).to.include({ kind: "server", parentSpanId: CALLER, traceState: "vendor=1", failed: false });
    expect(server.facts).to.include({
      ...{ "http.request.method": "POST", "http.route": "/v1/queues/:queue/requests" },
      ...{ "http.response.status_code": 200, "url.path": "/v1/queues/plain/requests", "url.scheme": "http" },
      ...{ "server.address": "127.0.0.1", "server.port": Number(new URL(api.url).port) },
    });
    const messaging = (operation: string) => ({
      ...{ "messaging.system": "paihao", "messaging.destination.name": "plain", "messaging.message.id": id },
      ...{ "messaging.operation.name": operation, "messaging.operation.type": operation },
    });
    expect(sent).to.include({ kind: "producer", parentSpanId: server.spanId });
    expect(sent.facts).to.include({ ...messaging("send"), "paihao.verdict": "new" });
    expect(sent.facts).to.have.property("server.address");
    expect(run).to.include({ kind: "consumer", parentSpanId: sent.spanId, failed: false });
    expect(run.links).to.deep.equal([sent.spanId]);
    expect(run.facts).to.include({
      ...messaging("process"),
      ...{ "paihao.task.attempt": 1, "paihao.task.end": "result", "paihao.task.verdict": "done" },
    });
    expect(answer.json.headers).to.deep.equal({
      ...{ traceparent: `00-${traceId}-${run.spanId}-01`, tracestate: "vendor=1" },
    });
    const delivery = named(spans, "POST");
    expect([deliver.parentSpanId, deliver.links]).to.deep.equal([sent.spanId, [sent.spanId]]);
    expect(delivery).to.include({ kind: "client", parentSpanId: deliver.spanId });
    const { origin, port } = new URL(receiver.url);
    expect(delivery.facts).to.include({
      ...{ "http.response.status_code": 204, "url.full": `${origin}/REDACTED` },
      ...{ "server.address": "127.0.0.1", "server.port": Number(port) },
    });
    const [event] = await receiver.count(1);
    expect(event?.headers.traceparent).to.equal(`00-${traceId}-${delivery.spanId}-01`);
    expect([server, run].map(({ resource }) => resource["service.name"])).to.deep.equal(["api", "worker"]);
    expect(JSON.stringify(spans)).to.not.contain("webhook=");
  });

  it("show retries as further attempts, the exception of each as an event, and each step once", async () => {
    const { traceId, headers } = newTrace();
    const answer = await post("twice", headers);
    const spans = await collector.trace(traceId, 5);
    const attempts = spans.filter(({ name }) => name === "process twice");
    const [first, second] = [1, 2].map((nth) => attempts.find(({ facts }) => facts["paihao.task.attempt"] === nth));
    expect(attempts.map(({ parentSpanId }) => parentSpanId)).to.deep.equal(
      new Array(2).fill(named(spans, "send twice").spanId),
    );
    expect(first).to.include({ failed: true, message: "not yet" });
    expect(first?.facts).to.include({ "error.type": "error", "paihao.task.verdict": "retrying" });
    expect(first?.events.map(({ name }) => name)).to.deep.equal(["exception"]);
    expect(first?.events[0]?.facts).to.include({ "exception.type": "Error", "exception.message": "not yet" });
    expect(first?.events[0]?.facts["exception.stacktrace"]).to.match(/handlers\.ts/);
    expect(second).to.deep.include({ failed: false, events: [] });
    const step = named(spans, "step book");
    expect(step).to.include({ kind: "internal", parentSpanId: first?.spanId });
    expect(step.facts).to.include({ "paihao.step": "book:42" });
    expect(answer.json.headers.traceparent).to.equal(`00-${traceId}-${first?.spanId}-01`);
    const ofHandler = () => {
      const lines = worker.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
      return lines.filter(({ msg, trace_id }) => msg === "in the handler" && trace_id === traceId);
    };
    await eventually(() => ofHandler().length === 2);
  });

  it("show what is undone", async () => {
    const { traceId, headers } = newTrace();
    await post("undone", headers);
    const spans = await collector.trace(traceId, 6);
    const undo = named(spans, "process paihao.undo");
    expect(undo.parentSpanId).to.equal(named(spans, "send undone").spanId);
    expect(named(spans, "undo step")).to.include({ parentSpanId: undo.spanId });
  });

  it("continue behind a gateway, and in a handler with its own child process", async () => {
    const { traceId, headers } = newTrace();
    const seen = receiver.received.length;
    await send("/v1/gateway/api/x", { headers });
    const get = named(await collector.trace(traceId, 4), "GET");
    expect(receiver.received[seen]?.headers.traceparent).to.equal(`00-${traceId}-${get.spanId}-01`);
    const other = newTrace();
    const answer = await post("isolated", other.headers);
    const run = named(await collector.trace(other.traceId, 3), "process isolated");
    expect(answer.json.headers.traceparent).to.equal(`00-${other.traceId}-${run.spanId}-01`);
  });

  it("are not recorded if the caller says so, but passed on", async () => {
    const { traceId, headers } = newTrace("00");
    const answer = await post("plain", headers);
    expect(answer.json.headers.traceparent).to.match(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    const { traceId: later, headers: sampled } = newTrace();
    await post("plain", sampled);
    await collector.trace(later, 3);
    expect(collector.spans.filter((span) => span.traceId === traceId)).to.deep.equal([]);
  });

  it("have one span for what a batch sends, to which each of its tasks is linked", async () => {
    const batch = newTrace();
    const headers = { "Content-Type": "application/x-ndjson", ...batch.headers };
    await send("/v1/queues/plain/batches", { method: "POST", headers, body: "1\n2\n" });
    const spans = await collector.trace(batch.traceId, 4);
    const sent = named(spans, "send plain");
    expect(sent.facts).to.include({ "messaging.batch.message_count": 2 });
    const runs = spans.filter(({ name }) => name === "process plain");
    expect(runs.map(({ links }) => links)).to.deep.equal([[sent.spanId], [sent.spanId]]);
  });
});
