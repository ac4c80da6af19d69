import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { hostname } from "node:os";
import { context, trace } from "@opentelemetry/api";
import { OTLPMetricExporter as JsonMetrics } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufMetrics } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as JsonTraces } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufTraces } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { OtelConfig, OtlpTarget } from "../config/otel.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { withTimeout } from "../net/with-timeout.ts";
import { ScopedContexts } from "./contexts.ts";
import { MetricSource } from "./metric-source.ts";
import { Sampling } from "./sampling.ts";
import { SCOPE } from "./trace-context.ts";
import type { OwnTracer } from "./tracing.ts";

const SDK_DEFAULTS = {
  /** The shortest time between two log lines about a failing collector. */
  logEveryMs: 60_000,
  /** Longest time for the last export. */
  stopMs: 5000,
  /** Spans that wait to be sent; further ones are dropped. */
  queue: 8192,
  batch: 512,
} as const;

/** Attributes of the process that do not come from the configuration. */
export interface SdkParts {
  readonly log: Logger;
  readonly version: string;
  readonly role: string;
}

/** How an exporter reports whether a batch was accepted; 0 is success. */
type Done = (result: { code: number; error?: Error }) => void;

/** The SDK of OpenTelemetry, as configured. Loaded only if something is to be sent. */
export class Sdk {
  readonly #config: OtelConfig;
  readonly #log: Logger;
  readonly #resource: Resource;
  readonly #agents: (Agent | TlsAgent)[] = [];
  readonly #provider: TracerProvider | undefined;
  readonly #sampling: Sampling | undefined;
  #meters: MeterProvider | undefined;
  /** Whether the provider registered for the process is ours. */
  #isGlobal = false;
  #hasContext = false;
  #failures = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #stopped: Promise<void> | undefined;

  constructor(config: OtelConfig, { log, version, role }: SdkParts) {
    this.#config = config;
    this.#log = log;
    // The default resource names this SDK.
    const ofProcess = resourceFromAttributes({
      "service.version": version,
      "service.instance.id": randomUUID(),
      "host.name": hostname(),
      "process.pid": process.pid,
      "paihao.role": role,
      ...config.attributes,
      "service.name": config.serviceName,
    });
    this.#resource = defaultResource().merge(ofProcess);
    const { traces } = config;
    if (!traces) return;
    const exporter = new (traces.protocol === "http/json" ? JsonTraces : ProtobufTraces)(this.#optionsOf(traces));
    this.#watch(exporter);
    const limits = { maxQueueSize: SDK_DEFAULTS.queue, maxExportBatchSize: SDK_DEFAULTS.batch };
    const timing = { scheduledDelayMillis: traces.everyMs, exportTimeoutMillis: traces.timeoutMs };
    this.#sampling = new Sampling(traces);
    this.#provider = new TracerProvider({
      resource: this.#resource,
      sampler: this.#sampling.sampler,
      idGenerator: this.#sampling,
      spanProcessors: [new BatchSpanProcessor({ exporter, ...limits, ...timing })],
    });
    // It keeps the current context, also for handlers that use the OpenTelemetry API; an application may have its own.
    this.#hasContext = context.setGlobalContextManager(new ScopedContexts());
    this.#isGlobal = trace.setGlobalTracerProvider(this.#provider);
  }

  /** Creates the spans of this server; undefined if spans are off. */
  tracer(version: string): OwnTracer | undefined {
    if (!this.#provider || !this.#sampling) return undefined;
    return { tracer: this.#provider.getTracer(SCOPE, version), sampling: this.#sampling };
  }

  /**
   * Begins to send metrics, if they are on.
   * @param refresh sets the gauges
   */
  sendMetrics(metrics: Metrics, refresh: () => Promise<void>): void {
    const target = this.#config.metrics;
    if (!target) return;
    const exporter = new (target.protocol === "http/json" ? JsonMetrics : ProtobufMetrics)(this.#optionsOf(target));
    this.#watch(exporter);
    const reader = new PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis: target.everyMs,
      exportTimeoutMillis: Math.min(target.timeoutMs, target.everyMs),
      metricProducers: [new MetricSource(metrics, refresh, this.#resource)],
    });
    this.#meters = new MeterProvider({ resource: this.#resource, readers: [reader] });
  }

  /** Sends the remaining data, and stops. Resolves in time even if the collector hangs. */
  stop(withinMs: number): Promise<void> {
    this.#stopped ??= this.#stop(withinMs);
    return this.#stopped;
  }

  async #stop(withinMs: number): Promise<void> {
    // In parallel, so that a collector that hangs costs the time only once.
    await Promise.all([this.#provider, this.#meters].map((provider) => provider && this.#flush(provider, withinMs)));
    if (this.#isGlobal) trace.disable();
    if (this.#hasContext) context.disable();
    // A request to a collector that hangs must not keep the process alive.
    for (const agent of this.#agents) agent.destroy();
  }

  /** Sends as much of the remaining data as the time allows. */
  async #flush(provider: { shutdown(): Promise<void> }, withinMs: number): Promise<void> {
    const ms = Math.min(withinMs, SDK_DEFAULTS.stopMs);
    const late = () => new Error(`the last export took longer than ${Math.round(ms)} ms`);
    try {
      await withTimeout(ms, provider.shutdown(), late);
    } catch (error) {
      this.#failed(error);
    }
  }

  #optionsOf({ url, headers, timeoutMs, gzip }: OtlpTarget) {
    const httpAgentOptions = (protocol: string) => {
      const agent = protocol === "https:" ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
      this.#agents.push(agent);
      return agent;
    };
    // An enum in its types.
    const compression = (gzip ? "gzip" : "none") as never;
    return { url, headers: { ...headers }, timeoutMillis: timeoutMs, compression, httpAgentOptions };
  }

  /** Logs, now and then, that an exporter fails. */
  #watch<Batch>(exporter: { export(batch: Batch, done: Done): void }): void {
    const send = exporter.export.bind(exporter);
    exporter.export = (batch, done) =>
      send(batch, (result) => {
        if (result.code !== 0) this.#failed(result.error);
        done(result);
      });
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    const now = performance.now();
    if (now - this.#loggedMs < SDK_DEFAULTS.logEveryMs) return;
    this.#log.warn(
      { reason: messageOf(error), failures: this.#failures },
      "telemetry: could not export to the collector; data that exceeds the buffer is dropped until it answers",
    );
    this.#loggedMs = now;
    this.#failures = 0;
  }
}
