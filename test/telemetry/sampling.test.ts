import { context, type Tracer, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { expect } from "chai";
import type { OtelConfig } from "../../src/config/otel.ts";
import { scope, withRequestId } from "../../src/log.ts";
import { ScopedContexts } from "../../src/telemetry/contexts.ts";
import { Sampling } from "../../src/telemetry/sampling.ts";
import { Tracing, traceIds } from "../../src/telemetry/tracing.ts";

const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
const TARGET = {
  url: "",
  headers: {},
  timeoutMs: 1000,
  gzip: false,
  protocol: "http/protobuf",
  everyMs: 1000,
} as const;
type Sampler = NonNullable<OtelConfig["traces"]>["sampler"];

const samplingBy = (sampler: Sampler, ratio = 1) => new Sampling({ ...TARGET, sampler, ratio });

/** The tracing of a server, and what it makes. */
function tracingBy(sampler: Sampler, ratio?: number) {
  const sampling = samplingBy(sampler, ratio);
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  const provider = new TracerProvider({ sampler: sampling.sampler, idGenerator: sampling, spanProcessors });
  const real = provider.getTracer("test");
  const started: string[] = [];
  const startSpan: Tracer["startSpan"] = (name, ...more) => {
    started.push(name);
    return real.startSpan(name, ...more);
  };
  const tracer = { startSpan, startActiveSpan: real.startActiveSpan.bind(real) };
  const tracing = new Tracing("1", { tracer, sampling });
  /** Answers a request that submits a task; returns the trace that the task gets. */
  const submit = async (trace: string) => {
    const request = { method: "POST", path: "/", scheme: "http", userAgent: undefined, trace };
    let sent = "";
    const work = () => {
      sent = tracing.current();
      return tracing.submitted({ id: "a", queue: "q" }, Promise.resolve({ verdict: "new" }));
    };
    await withRequestId("a", () => tracing.request(request, work, () => ({ route: "/", status: 202 })));
    return sent;
  };
  return { tracing, submit, started, recorded: () => exporter.getFinishedSpans() };
}

describe("sampling", () => {
  before(() => context.setGlobalContextManager(new ScopedContexts()));
  after(() => context.disable());

  it("is decided by the sender if it is parent-based, otherwise by the server, which then changes the flag", () => {
    const decisions = (sampler: Sampler, ratio?: number) =>
      [`${TRACE}-01`, `${TRACE}-00 a=1`, `${TRACE}-03 a=1`, `${TRACE}-02`].map((trace) =>
        samplingBy(sampler, ratio).passedOn(trace),
      );
    const bySender = [undefined, `${TRACE}-00 a=1`, undefined, `${TRACE}-02`];
    expect(decisions("parentbased_always_on")).to.deep.equal(bySender);
    expect(decisions("parentbased_always_off")).to.deep.equal(bySender);
    expect(decisions("parentbased_traceidratio", 0)).to.deep.equal(bySender);
    const never = [`${TRACE}-00`, `${TRACE}-00 a=1`, `${TRACE}-02 a=1`, `${TRACE}-02`];
    expect(decisions("always_off")).to.deep.equal(never);
    expect(decisions("traceidratio", 0)).to.deep.equal(never);
    expect(decisions("always_on")).to.deep.equal(Array(4).fill(undefined));
    expect(decisions("traceidratio", 1)).to.deep.equal(Array(4).fill(undefined));
  });

  it("creates no span for a request and its task if the trace is not recorded, but passes it on", async () => {
    const { submit, tracing, started } = tracingBy("parentbased_traceidratio", 0);
    const given = `${TRACE}-00 vendor=1`;
    expect(await submit(given)).to.equal(given);
    expect(await submit("")).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    const task = { id: "a", queue: "q", attempt: 1, maxAttempts: 1, lost: 0, createdMs: Date.now() };
    const attempt = tracing.attempt({ ...task, trace: given });
    expect(attempt.trace).to.equal(given);
    let within = "";
    attempt.run(() => {
      within = tracing.current();
    });
    expect(within).to.equal(given);
    expect(started).to.deep.equal([]);
  });

  it("names the trace in log lines even if it is not recorded, together with the id of the request", async () => {
    const of = (trace: string) =>
      withRequestId("a", async () => {
        const { tracing } = tracingBy("parentbased_always_on");
        const request = { method: "POST", path: "/", scheme: "http", userAgent: undefined, trace };
        let seen = {};
        const work = async () => {
          await new Promise(setImmediate);
          seen = { ...traceIds(), requestId: scope()?.requestId };
        };
        await tracing.request(request, work, () => ({ route: "/", status: 202 }));
        return { seen, after: traceIds() };
      });
    const ids = { trace_id: TRACE.slice(3, 35), requestId: "a" };
    expect((await of(`${TRACE}-00`)).seen).to.deep.equal({ ...ids, span_id: TRACE.slice(36) });
    const { seen, after } = await of(`${TRACE}-01`);
    expect(seen)
      .to.include(ids)
      .and.to.not.include({ span_id: TRACE.slice(36) });
    expect(after).to.equal(undefined);
  });

  it("records a trace that begins with a request under the id that the decision was based on", async () => {
    const { submit, started, recorded } = tracingBy("parentbased_traceidratio", 0.5);
    const traces = [];
    for (let n = 0; n < 100; n += 1) traces.push(await submit(""));
    const sampled = traces.filter((trace) => trace.endsWith("-01"));
    expect(new Set(traces.map((trace) => trace.slice(3, 35))).size).to.equal(100);
    expect(sampled.length).to.be.within(10, 90);
    expect(started).to.have.length(sampled.length);
    const ids = recorded().map((span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`);
    expect(ids).to.deep.equal(sampled);
  });

  it("leaves the decision to the provider that the application has registered", async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
    trace.setGlobalTracerProvider(provider);
    try {
      const tracing = new Tracing("1");
      await provider.getTracer("app").startActiveSpan("above", async (above) => {
        const request = { method: "GET", path: "/", scheme: "http", userAgent: undefined, trace: `${TRACE}-00` };
        await tracing.request(
          request,
          async () => undefined,
          () => ({ route: "/", status: 200 }),
        );
        const [span] = exporter.getFinishedSpans();
        expect(span?.parentSpanContext?.spanId).to.equal(above.spanContext().spanId);
        above.end();
      });
    } finally {
      trace.disable();
    }
  });
});
