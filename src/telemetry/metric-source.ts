import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import type { Metrics } from "../metrics.ts";
import { SCOPE } from "./trace-context.ts";

/** A series, as prom-client returns it. */
interface Series {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

/** A metric, as prom-client returns it. */
interface ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string | number;
  readonly values: readonly Series[];
}

/** Metrics that the semantic conventions name. */
const CONVENTIONAL: Readonly<Record<string, { name: string; attributes: (labels: Series["labels"]) => Attributes }>> = {
  paihao_http_request_duration_seconds: {
    name: "http.server.request.duration",
    attributes: ({ method = "", route = "", status }) => ({
      "http.request.method": method,
      // The scheme seen by this process: TLS ends at a proxy.
      "url.scheme": "http",
      "http.response.status_code": Number(status),
      ...(route !== "" && { "http.route": route }),
      ...(Number(status) >= 500 && { "error.type": String(status) }),
    }),
  },
  paihao_attempt_duration_seconds: {
    name: "messaging.process.duration",
    attributes: ({ queue = "", end = "" }) => ({
      ...messaging(queue, "process"),
      ...(end !== "result" && { "error.type": end }),
    }),
  },
};

/** In the resource. */
const LEFT_OUT = new Set(["paihao_build_info"]);

const messaging = (queue: string | number, operation: string): Attributes => ({
  "messaging.system": "paihao",
  "messaging.destination.name": queue,
  "messaging.operation.name": operation,
});

/** The metrics of a server in the form of OpenTelemetry: the same counters as for Prometheus, read when they are sent. */
export class MetricSource implements MetricProducer {
  readonly #metrics: Metrics;
  readonly #refresh: () => Promise<void>;
  readonly #resource: Resource;
  readonly #startTime = hrTime();

  constructor(metrics: Metrics, refresh: () => Promise<void>, resource: Resource) {
    this.#metrics = metrics;
    this.#refresh = refresh;
    this.#resource = resource;
  }

  async collect(): Promise<CollectionResult> {
    await this.#refresh();
    // The types of prom-client leave out the names of a histogram's series.
    const read = (await this.#metrics.registry.getMetricsAsJSON()) as unknown as ReadMetric[];
    const kept = read.filter(({ name, values }) => values.length > 0 && !LEFT_OUT.has(name));
    const metrics = [...kept.map((metric) => this.#converted(metric)), ...this.#messages(kept)];
    const resourceMetrics = { resource: this.#resource, scopeMetrics: [{ scope: { name: SCOPE }, metrics }] };
    return { resourceMetrics, errors: [] };
  }

  #converted({ name, help, type, values }: ReadMetric): MetricData {
    const common = {
      descriptor: { ...nameOf(name), description: help, valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    const attributesOf = CONVENTIONAL[name]?.attributes ?? prefixed;
    if (type === "histogram") {
      const dataPoints = histogramsOf(values).map(({ labels, value }) => this.#point(attributesOf(labels), value));
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints };
    }
    const dataPoints = values.map(({ labels, value }) => this.#point(attributesOf(labels), value));
    if (type === "counter") return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
    return { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
  }

  /** Tasks submitted and processed, by the names of the conventions. */
  #messages(read: readonly ReadMetric[]): MetricData[] {
    const sum = (name: string, description: string, operation: string, series: readonly Series[]): MetricData => {
      const byQueue = new Map<string | number, number>();
      for (const { labels, value } of series) {
        byQueue.set(labels.queue ?? "", (byQueue.get(labels.queue ?? "") ?? 0) + value);
      }
      return {
        descriptor: { name, description, unit: "{message}", valueType: ValueType.DOUBLE },
        aggregationTemporality: AggregationTemporality.CUMULATIVE,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: [...byQueue].map(([queue, value]) => this.#point(messaging(queue, operation), value)),
      };
    };
    const of = (metric: string, wanted: (series: Series) => boolean) =>
      (read.find(({ name }) => name === metric)?.values ?? []).filter(wanted);
    const sent = of("paihao_submissions_total", ({ labels }) => labels.verdict === "new");
    const consumed = of("paihao_attempt_duration_seconds", ({ metricName = "" }) => metricName.endsWith("_count"));
    return [
      sum("messaging.client.sent.messages", "Tasks that were stored", "submit", sent),
      sum("messaging.client.consumed.messages", "Attempts of handlers that have ended", "process", consumed),
    ].filter(({ dataPoints }) => dataPoints.length > 0);
  }

  #point<T>(attributes: Attributes, value: T): DataPoint<T> {
    return { startTime: this.#startTime, endTime: hrTime(), attributes, value };
  }
}

/** `paihao_queue_oldest_wait_seconds` is `paihao.queue.oldest_wait` in s. */
function nameOf(prometheus: string): { name: string; unit: string } {
  const [, words = "", unit] = /^paihao_(.*?)(?:_(seconds|bytes))?(?:_total)?$/.exec(prometheus) ?? [];
  return {
    name: CONVENTIONAL[prometheus]?.name ?? `paihao.${words.replace(/^(queue|store|handlers)_/, "$1.")}`,
    unit: unit === "seconds" ? "s" : unit === "bytes" ? "By" : "1",
  };
}

function prefixed(labels: Series["labels"]): Attributes {
  const name = (label: string) => (label === "queue" ? "messaging.destination.name" : `paihao.${label}`);
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [name(label), value]));
}

/** One data point for each combination of labels, from series that each count up to a limit. */
function histogramsOf(values: readonly Series[]): { labels: Series["labels"]; value: Histogram }[] {
  const found = new Map<string, { labels: Series["labels"]; boundaries: number[]; upTo: number[]; sum: number }>();
  for (const { labels, value, metricName = "" } of values) {
    const { le, ...others } = labels;
    const key = JSON.stringify(others);
    const one = found.get(key) ?? { labels: others, boundaries: [], upTo: [], sum: 0 };
    found.set(key, one);
    if (metricName.endsWith("_sum")) one.sum = value;
    else if (metricName.endsWith("_bucket")) {
      one.upTo.push(value);
      if (le !== "+Inf") one.boundaries.push(Number(le));
    }
  }
  return [...found.values()].map(({ labels, boundaries, upTo, sum }) => {
    const counts = upTo.map((count, i) => count - (upTo[i - 1] ?? 0));
    return { labels, value: { buckets: { boundaries, counts }, sum, count: upTo.at(-1) ?? 0 } };
  });
}

function hrTime(): HrTime {
  const ms = Date.now();
  return [Math.floor(ms / 1000), (ms % 1000) * 1e6];
}
