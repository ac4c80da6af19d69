import { StartError } from "../errors.ts";
import { flag, listOf, oneOf, text, type Variable, whole } from "./values.ts";

const PROTOCOLS = ["http/protobuf", "http/json"] as const;
const EXPORTERS = ["otlp", "none"] as const;
const SAMPLERS = [
  ...(["always_on", "always_off", "traceidratio"] as const),
  ...(["parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"] as const),
] as const;

/** Where a collector listens by default (OTLP 1.0). */
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

/** What is sent to a collector, and for which service. */
export interface OtelConfig {
  readonly serviceName: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Undefined: no traces. */
  readonly traces: (OtlpTarget & Sampling & { readonly everyMs: number }) | undefined;
  /** Undefined: no metrics. */
  readonly metrics: (OtlpTarget & { readonly everyMs: number }) | undefined;
}

const url = (): Variable<string, undefined> => ({
  fallback: "",
  unset: undefined,
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
  OTEL_SDK_DISABLED: {
    about: "true: sends nothing, whatever the other variables say.",
    ...flag(false),
  },
  OTEL_SERVICE_NAME: {
    about: "Name of the service in traces and metrics.",
    ...text("paihao", /\S/, "a name"),
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    about:
      "Further attributes of the service: name=value, separated by commas, percent-encoded, e.g. deployment.environment.name=test.",
    ...pairs(),
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    about:
      "Base URL of a collector (OTLP over HTTP), e.g. http://localhost:4318; /v1/traces and /v1/metrics are appended. If neither this nor one of the next two is set, nothing is sent, unless an exporter is set to otlp.",
    ...url(),
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    about: "Full URL for traces, instead of the above.",
    ...url(),
  },
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: {
    about: "Full URL for metrics.",
    ...url(),
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    about: "Headers for the collector: name=value, separated by commas, percent-encoded.",
    ...pairs(true),
  },
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: {
    about: "The same for traces, in place of the above.",
    ...pairs(true),
  },
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: {
    about: "The same for metrics.",
    ...pairs(true),
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    about: "http/protobuf or http/json.",
    ...oneOf("http/protobuf", PROTOCOLS),
  },
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: {
    about: "The same for traces, in place of the above.",
    ...oneOf("", PROTOCOLS),
  },
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: {
    about: "The same for metrics.",
    ...oneOf("", PROTOCOLS),
  },
  OTEL_EXPORTER_OTLP_COMPRESSION: {
    about: "none or gzip.",
    ...oneOf("none", ["none", "gzip"] as const),
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    about: "Maximum time for a request to the collector, in milliseconds.",
    ...whole(10_000, 1, 600_000),
  },
  OTEL_TRACES_EXPORTER: {
    about: "Whether traces are sent: otlp or none. Not set: otlp if there is an endpoint.",
    ...oneOf("", EXPORTERS),
  },
  OTEL_METRICS_EXPORTER: {
    about: "Whether metrics are sent, in the same way.",
    ...oneOf("", EXPORTERS),
  },
  OTEL_TRACES_SAMPLER: {
    about:
      "Which traces are recorded: always_on, always_off or traceidratio. With the prefix parentbased_ the submitter decides, and this applies only if the submitter sent no trace.",
    ...oneOf("parentbased_always_on", SAMPLERS),
  },
  OTEL_TRACES_SAMPLER_ARG: {
    about: "The share of traces that traceidratio records, from 0 to 1.",
    ...text("1", /^(?:0(?:\.\d+)?|\.\d+|1(?:\.0+)?)$/, "a number from 0 to 1"),
  },
  OTEL_BSP_SCHEDULE_DELAY: {
    about: "Maximum time for which spans are collected before they are sent, in milliseconds.",
    ...whole(5000, 1, 3_600_000),
  },
  OTEL_METRIC_EXPORT_INTERVAL: {
    about: "Time between two exports of metrics, in milliseconds.",
    ...whole(60_000, 100, 86_400_000),
  },
} as const;

type Values = {
  readonly [Name in keyof typeof OTEL_VARIABLES]: (typeof OTEL_VARIABLES)[Name] extends Variable<
    infer Value,
    infer Unset
  >
    ? Value | Unset
    : never;
};

/** What is to be sent; undefined if nothing is. */
export function readOtel(values: Values): OtelConfig | undefined {
  if (values.OTEL_SDK_DISABLED) return undefined;
  const traces = targetOf(values, "TRACES");
  const metrics = targetOf(values, "METRICS");
  if (!traces && !metrics) return undefined;
  return {
    serviceName: values.OTEL_SERVICE_NAME,
    attributes: Object.fromEntries(values.OTEL_RESOURCE_ATTRIBUTES),
    traces: traces && {
      ...traces,
      sampler: values.OTEL_TRACES_SAMPLER,
      ratio: Number(values.OTEL_TRACES_SAMPLER_ARG),
      everyMs: values.OTEL_BSP_SCHEDULE_DELAY,
    },
    metrics: metrics && { ...metrics, everyMs: values.OTEL_METRIC_EXPORT_INTERVAL },
  };
}

/** Nothing is sent unless an endpoint or an exporter is named. */
function targetOf(values: Values, signal: "TRACES" | "METRICS"): OtlpTarget | undefined {
  const exporter = values[`OTEL_${signal}_EXPORTER`];
  const own = values[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`];
  const base = values.OTEL_EXPORTER_OTLP_ENDPOINT ?? (exporter === "otlp" ? USUAL_ENDPOINT : undefined);
  const url = own ?? (base && `${base.replace(/\/$/, "")}/v1/${signal.toLowerCase()}`);
  if (exporter === "none" || url === undefined) return undefined;
  const headers = values[`OTEL_EXPORTER_OTLP_${signal}_HEADERS`];
  return {
    url,
    headers: Object.fromEntries(headers.length > 0 ? headers : values.OTEL_EXPORTER_OTLP_HEADERS),
    protocol: values[`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`] ?? values.OTEL_EXPORTER_OTLP_PROTOCOL,
    gzip: values.OTEL_EXPORTER_OTLP_COMPRESSION === "gzip",
    timeoutMs: values.OTEL_EXPORTER_OTLP_TIMEOUT,
  };
}
