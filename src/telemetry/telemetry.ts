import type { OtelConfig } from "../config/otel.ts";
import { StartError } from "../errors.ts";
import { useTraceIds } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { optionalPackages } from "../version.ts";
import type { Sdk, SdkParts } from "./sdk.ts";
import type { OwnTracer, Tracing } from "./tracing.ts";

/** What a server sends to a collector. */
export interface Telemetry {
  /** Undefined if spans are off. */
  readonly tracing: Tracing | undefined;
  /**
   * Begins to send metrics, if they are on.
   * @param refresh sets the gauges
   */
  sendMetrics(metrics: Metrics, refresh: () => Promise<void>): void;
  /** Sends the remaining data, and stops. Resolves in time even if the collector hangs. */
  stop(withinMs: number): Promise<void>;
}

/** Where every copy of the OpenTelemetry API keeps what an application has registered. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** How many servers of this process have registered our provider; an application's own takes precedence. */
let ours = 0;

/**
 * Prepares to send what is configured. If the application has registered a tracer provider, it gets the spans. Without either,
 * nothing of OpenTelemetry is loaded.
 * @throws StartError if it is needed but not installed
 */
export async function openTelemetry(config: OtelConfig | undefined, parts: SdkParts): Promise<Telemetry> {
  const { trace } = (globalThis as { [REGISTERED]?: { trace?: unknown } })[REGISTERED] ?? {};
  const registered = trace !== undefined && ours === 0;
  if (config === undefined) return telemetryOf(registered ? await openTracing(parts.version) : undefined);
  const { Sdk } = await import("./sdk.ts").catch(explainMissing);
  const sdk = new Sdk(registered ? { ...config, traces: undefined } : config, parts);
  const tracer = sdk.tracer(parts.version);
  if (tracer === undefined) return telemetryOf(registered ? await openTracing(parts.version) : undefined, sdk);
  ours += 1;
  return telemetryOf(await openTracing(parts.version, tracer), sdk, () => {
    ours -= 1;
  });
}

/** The packages are optional, since most servers send nothing, and they are twice as large as all others together. */
function explainMissing(error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== "ERR_MODULE_NOT_FOUND" || !/'@opentelemetry\//.test(message)) throw error;
  const packages = optionalPackages().filter((each) => each.startsWith("@opentelemetry/"));
  throw new StartError(
    `OTEL_… is set, but OpenTelemetry is not installed. Install it: npm install ${packages.join(" ")}`,
  );
}

function telemetryOf(tracing: Tracing | undefined, sdk?: Sdk, stopped?: () => void): Telemetry {
  let stop: Promise<void> | undefined;
  return {
    tracing,
    sendMetrics: (metrics, refresh) => sdk?.sendMetrics(metrics, refresh),
    stop: (withinMs) => {
      stop ??= Promise.resolve(sdk?.stop(withinMs)).then(stopped);
      return stop;
    },
  };
}

async function openTracing(version: string, own?: OwnTracer): Promise<Tracing> {
  const { Tracing, traceIds } = await import("./tracing.ts");
  useTraceIds(traceIds);
  return new Tracing(version, own);
}
