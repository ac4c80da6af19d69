import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { eventually } from "../shared/eventually.ts";
import { type Fields, readFields } from "./protobuf.ts";

/** A span as the collector got it. */
export interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" for none. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer";
  readonly startMs: number;
  readonly endMs: number;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
  readonly message: string;
  /** Of the process that made it. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A metric as the collector got it. */
interface SentMetric {
  readonly name: string;
  readonly unit: string;
  readonly type: "gauge" | "sum" | "histogram";
  readonly points: readonly { readonly facts: Readonly<Record<string, unknown>>; readonly value: number }[];
}

/** A collector: OTLP over HTTP, in protobuf. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly SentSpan[];
  /** The latest export. */
  readonly metrics: readonly SentMetric[];
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** The spans of a trace, once there are so many. */
  trace(traceId: string, count: number): Promise<readonly SentSpan[]>;
  close(): Promise<void>;
}

const KINDS = ["internal", "internal", "server", "client", "producer", "consumer"] as const;

/** @param answer the status; null: none, ever */
export async function startCollector(answer: () => number | null = () => 200): Promise<Collector> {
  const spans: SentSpan[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  let metrics: SentMetric[] = [];
  const server = createServer((req, res) => {
    void (async () => {
      const body = Buffer.concat(await req.toArray());
      const { url = "", headers } = req;
      requests.push({ path: url, headers });
      const status = answer();
      if (status === 200) {
        const bytes = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
        if (url.endsWith("/v1/traces")) spans.push(...spansOf(readFields(bytes)));
        else metrics = metricsOf(readFields(bytes));
      }
      if (status !== null) res.writeHead(status, { "Content-Type": "application/x-protobuf" }).end();
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    get metrics() {
      return metrics;
    },
    trace: async (traceId, count) => {
      const of = () => spans.filter((span) => span.traceId === traceId);
      await eventually(() => of().length >= count);
      return of();
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

// The numbers are those of opentelemetry/proto, version 1.

/** ExportTraceServiceRequest */
function spansOf(request: Fields): SentSpan[] {
  return request.messages(1).flatMap((ofResource) => {
    const resource = factsOf(ofResource.message(1), 1);
    return ofResource.messages(2).flatMap((ofScope) => ofScope.messages(2).map((span) => spanOf(span, resource)));
  });
}

/** Span */
function spanOf(span: Fields, resource: SentSpan["resource"]): SentSpan {
  const status = span.message(15);
  return {
    traceId: span.bytes(1).toString("hex"),
    spanId: span.bytes(2).toString("hex"),
    traceState: span.text(3),
    parentSpanId: span.bytes(4).toString("hex"),
    name: span.text(5),
    kind: KINDS[span.number(6)] ?? "internal",
    startMs: span.number(7) / 1e6,
    endMs: span.number(8) / 1e6,
    facts: factsOf(span, 9),
    failed: status.number(3) === 2,
    message: status.text(2),
    resource,
  };
}

/** KeyValue: the strings, numbers and booleans of AnyValue. */
function factsOf(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    fields.messages(number).map((pair) => {
      const value = pair.message(2);
      const read = value.has(1) ? value.text(1) : value.has(4) ? value.double(4) : value.number(value.has(3) ? 3 : 2);
      return [pair.text(1), read];
    }),
  );
}

/** ExportMetricsServiceRequest */
function metricsOf(request: Fields): SentMetric[] {
  const scopes = request.messages(1).flatMap((ofResource) => ofResource.messages(2));
  return scopes.flatMap((scope) => scope.messages(2).map(metricOf));
}

/** Metric; of a histogram the count is read. */
function metricOf(metric: Fields): SentMetric {
  const [type, number] = metric.has(5)
    ? (["gauge", 5] as const)
    : metric.has(7)
      ? (["sum", 7] as const)
      : (["histogram", 9] as const);
  const points = metric
    .message(number)
    .messages(1)
    .map((point) => {
      if (type === "histogram") return { facts: factsOf(point, 9), value: point.number(4) };
      return { facts: factsOf(point, 7), value: point.has(4) ? point.double(4) : point.number(6) };
    });
  return { name: metric.text(1), unit: metric.text(3), type, points };
}
