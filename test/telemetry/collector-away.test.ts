import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { expect } from "chai";
import { BUSY_MS } from "../helpers/busy.ts";
import { startServer } from "../helpers/http/server.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";
import { startCollector } from "./collector.ts";

const run = promisify(execFile);
const FIXTURE = path.join(ROOT, "test/fixtures/otel-off.ts");

describe("OpenTelemetry", function () {
  this.timeout(60_000);

  const report = async (env: Record<string, string>) => {
    const common = { PATH: process.env.PATH, REDIS_URL: storeUrl(), KEY_PREFIX: uniquePrefix() };
    const args = ["--import", "tsx", FIXTURE];
    const { stdout } = await run(process.execPath, args, { cwd: ROOT, env: { ...common, ...env } });
    return JSON.parse(stdout) as { status: number; loaded: number; registered: boolean };
  };

  it("is not loaded unless its variables are set", async () => {
    expect(await report({})).to.deep.equal({ status: 200, loaded: 0, registered: false });
    const collector = await startCollector();
    try {
      const disabled = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SDK_DISABLED: "true" };
      expect(await report(disabled)).to.deep.equal({ status: 200, loaded: 0, registered: false });
      expect(collector.requests).to.have.length(0);
      const enabled = await report({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
      expect(enabled).to.include({ status: 200, registered: true });
      expect(enabled.loaded).to.be.above(10);
      // Sent when it stopped.
      expect(collector.spans.map(({ name }) => name)).to.include("process plain");
      expect(collector.metrics.map(({ name }) => name)).to.include("messaging.process.duration");
    } finally {
      await collector.close();
    }
  });

  it("gives its spans to the provider that the application has registered", async () => {
    const exporter = new InMemorySpanExporter();
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
    const collector = await startCollector();
    const server = await startServer({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, DRAIN_TIMEOUT: "2s" });
    try {
      await server.post("default", 1);
      const names = () => exporter.getFinishedSpans().map(({ name }) => name);
      await eventually(() =>
        expect(names()).to.include.members(["POST /v1/queues/:queue/requests", "process default"]),
      );
      await server.stop();
      expect(collector.spans).to.have.length(0);
      expect(collector.metrics).to.not.have.length(0);
    } finally {
      await server.stop();
      trace.disable();
      context.disable();
      await collector.close();
    }
  });

  it("delays a stop for only one time limit if the collector never answers, since traces and metrics are sent in parallel", async () => {
    const collector = await startCollector(() => null);
    const server = await startServer({ DRAIN_TIMEOUT: "20s", OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    try {
      expect((await server.post("default", 1)).status).to.equal(200);
      const began = performance.now();
      await server.stop();
      expect(performance.now() - began).to.be.below(5000 + BUSY_MS);
      expect(collector.requests.map(({ path }) => path)).to.include.members(["/v1/traces", "/v1/metrics"]);
    } finally {
      await server.stop();
      await collector.close();
    }
  });

  for (const [what, answer] of [
    ["answers 503", 503],
    ["never answers", null],
  ] as const) {
    it(`delays neither tasks nor the exit if the collector ${what}, and is logged once`, async () => {
      const collector = await startCollector(() => answer);
      const server = await startServer({
        DRAIN_TIMEOUT: "1s",
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_TIMEOUT: "200",
        OTEL_BSP_SCHEDULE_DELAY: "20",
        OTEL_METRIC_EXPORT_INTERVAL: "200",
      });
      try {
        for (let n = 0; n < 20; n += 1) expect((await server.post("default", n)).status).to.equal(200);
        const complaints = () => server.log.filter(({ msg }) => String(msg).startsWith("telemetry: "));
        await eventually(() => complaints().length > 0);
        for (let n = 0; n < 20; n += 1) expect((await server.post("default", n)).status).to.equal(200);
        const began = performance.now();
        await server.stop();
        expect(performance.now() - began).to.be.below(5000 + BUSY_MS);
        expect(complaints()).to.have.length(1);
        expect(complaints()[0]).to.have.property("level", 40);
      } finally {
        await server.stop();
        await collector.close();
      }
    });
  }
});
