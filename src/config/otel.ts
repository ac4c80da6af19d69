import { StartError } from "../errors.ts";
import { flag, listOf, oneOf, text, type Variable, whole } from "./values.ts";

const PROTOCOLS = ["http/protobuf", "http/json"] as const;
const EXPORTERS = ["otlp", "none"] as const;
const SAMPLERS = [
  ...(["always_on", "always_off", "traceidratio"] as const),
  ...(["parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"] as const),
] as const;

/** Where a collector listens that is not named otherwise (OTLP 1.0). */
const USUAL_ENDPOINT = "http://localhost:4318";

/** Where and how something is sent to a collector. */
export interface OtlpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly protocol: (typeof PROTOCOLS)[number];
  readonly gzip: boolean;
  readonly timeoutMs: number;
}

/** Which traces are recorded. */
interface Sampling {
  readonly sampler: (typeof SAMPLERS)[number];
  /** The share that `traceidratio` records. */
  readonly ratio: number;
}

/** What is sent to a collector, and as whose. */
export interface OtelConfig {
  readonly serviceName: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Undefined: no traces. */
  readonly traces: (OtlpTarget & Sampling & { readonly everyMs: number }) | undefined;
  /** Undefined: no metrics. */
  readonly metrics: (OtlpTarget & { readonly everyMs: number }) | undefined;
}

const url = (): Variable<string> => ({
  fallback: "",
  expected: "an http or https URL",
  // It may contain a password or a token.
  secret: true,
  read: (value) => (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : undefined),
});

const pairs = (secret?: true): Variable<readonly (readonly [string, string])[]> =>
  listOf("name=value, separated by commas", readPair, secret ? { secret } : {});

/** Names and values are percent-encoded (W3C Baggage). */
function readPair(item: string): readonly [string, string] {
  const at = item.indexOf("=");
  const pair = [item.slice(0, at).trim(), item.slice(at + 1).trim()] as const;
  try {
    if (at > 0) return [decodeURIComponent(pair[0]), decodeURIComponent(pair[1])];
  } catch {
    // Refused below; the value is not repeated, since it may be a key.
  }
  throw new StartError("one of them does not have this form");
}

/** The variables of OpenTelemetry that the server reads. */
export const OTEL_VARIABLES = {
  OTEL_SDK_DISABLED: flag(false),
  OTEL_SERVICE_NAME: text("paihao", /\S/, "a name"),
  OTEL_RESOURCE_ATTRIBUTES: pairs(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url(),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: url(),
  OTEL_EXPORTER_OTLP_HEADERS: pairs(true),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: pairs(true),
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: pairs(true),
  OTEL_EXPORTER_OTLP_PROTOCOL: oneOf("http/protobuf", PROTOCOLS),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: oneOf("", PROTOCOLS),
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: oneOf("", PROTOCOLS),
  OTEL_EXPORTER_OTLP_COMPRESSION: oneOf("none", ["none", "gzip"] as const),
  OTEL_EXPORTER_OTLP_TIMEOUT: whole(10_000, 1, 600_000),
  OTEL_TRACES_EXPORTER: oneOf("", EXPORTERS),
  OTEL_METRICS_EXPORTER: oneOf("", EXPORTERS),
  OTEL_TRACES_SAMPLER: oneOf("parentbased_always_on", SAMPLERS),
  OTEL_TRACES_SAMPLER_ARG: text("1", /^(?:0(?:\.\d+)?|\.\d+|1(?:\.0+)?)$/, "a number from 0 to 1"),
  OTEL_BSP_SCHEDULE_DELAY: whole(5000, 1, 3_600_000),
  OTEL_METRIC_EXPORT_INTERVAL: whole(60_000, 100, 86_400_000),
} as const;

type Values = {
  readonly [K in keyof typeof OTEL_VARIABLES]: (typeof OTEL_VARIABLES)[K] extends Variable<infer T>
    ? T | undefined
    : never;
};

/** What is to be sent; undefined if nothing is. */
export function readOtel(values: Values): OtelConfig | undefined {
  if (values.OTEL_SDK_DISABLED) return undefined;
  const traces = targetOf(values, "TRACES");
  const metrics = targetOf(values, "METRICS");
  if (!traces && !metrics) return undefined;
  return {
    serviceName: values.OTEL_SERVICE_NAME ?? "",
    attributes: Object.fromEntries(values.OTEL_RESOURCE_ATTRIBUTES ?? []),
    traces: traces && {
      ...traces,
      sampler: values.OTEL_TRACES_SAMPLER ?? "parentbased_always_on",
      ratio: Number(values.OTEL_TRACES_SAMPLER_ARG),
      everyMs: values.OTEL_BSP_SCHEDULE_DELAY ?? 0,
    },
    metrics: metrics && { ...metrics, everyMs: values.OTEL_METRIC_EXPORT_INTERVAL ?? 0 },
  };
}

/** Only an endpoint or an exporter that is named makes anything be sent. */
function targetOf(values: Values, signal: "TRACES" | "METRICS"): OtlpTarget | undefined {
  const exporter = values[`OTEL_${signal}_EXPORTER`];
  const own = values[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`];
  const base = values.OTEL_EXPORTER_OTLP_ENDPOINT ?? (exporter === "otlp" ? USUAL_ENDPOINT : undefined);
  const url = own ?? (base && `${base.replace(/\/$/, "")}/v1/${signal.toLowerCase()}`);
  if (exporter === "none" || url === undefined) return undefined;
  return {
    url,
    headers: Object.fromEntries(
      values[`OTEL_EXPORTER_OTLP_${signal}_HEADERS`] ?? values.OTEL_EXPORTER_OTLP_HEADERS ?? [],
    ),
    protocol: values[`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`] ?? values.OTEL_EXPORTER_OTLP_PROTOCOL ?? "http/protobuf",
    gzip: values.OTEL_EXPORTER_OTLP_COMPRESSION === "gzip",
    timeoutMs: values.OTEL_EXPORTER_OTLP_TIMEOUT ?? 0,
  };
}
