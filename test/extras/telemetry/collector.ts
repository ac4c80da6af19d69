import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "../../shared/eventually.ts";

type Facts = Readonly<Record<string, unknown>>;

/** A span as the collector got it. */
export interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" for none. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer";
  readonly facts: Facts;
  /** The spans that it is linked to. */
  readonly links: readonly string[];
  readonly events: readonly { readonly name: string; readonly facts: Facts }[];
  readonly failed: boolean;
  readonly message: string;
  /** Of the process that made it. */
  readonly resource: Facts;
}

/** A collector: traces as OTLP over HTTP, in JSON. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly SentSpan[];
  /** The spans of a trace, once there are so many. */
  trace(traceId: string, count: number): Promise<readonly SentSpan[]>;
  close(): Promise<void>;
}

const KINDS = ["internal", "internal", "server", "client", "producer", "consumer"] as const;

export async function startCollector(): Promise<Collector> {
  const spans: SentSpan[] = [];
  const server = createServer((req, res) => {
    void req.toArray().then((chunks) => {
      if (req.url === "/v1/traces") spans.push(...spansOf(JSON.parse(Buffer.concat(chunks).toString())));
      res.writeHead(200, { "Content-Type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
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

/** ExportTraceServiceRequest of opentelemetry/proto, version 1. */
// biome-ignore lint/suspicious/noExplicitAny: a document of another project
function spansOf(request: any): SentSpan[] {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  return request.resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    scopeSpans.flatMap((scope: any) =>
      // biome-ignore lint/suspicious/noExplicitAny: as above
      scope.spans.map((span: any) => ({
        ...span,
        ...{ parentSpanId: span.parentSpanId ?? "", traceState: span.traceState ?? "", kind: KINDS[span.kind] },
        facts: factsOf(span.attributes),
        links: (span.links ?? []).map(({ spanId }: { spanId: string }) => spanId),
        // biome-ignore lint/suspicious/noExplicitAny: as above
        events: (span.events ?? []).map(({ name, attributes }: any) => ({ name, facts: factsOf(attributes) })),
        failed: span.status?.code === 2,
        message: span.status?.message ?? "",
        resource: factsOf(resource.attributes),
      })),
    ),
  );
}

/** KeyValue: the strings, numbers and booleans of AnyValue. */
function factsOf(pairs: readonly { key: string; value: Readonly<Record<string, unknown>> }[] = []): Facts {
  const read = ({ intValue, stringValue, doubleValue, boolValue }: Readonly<Record<string, unknown>>) =>
    intValue === undefined ? (stringValue ?? doubleValue ?? boolValue) : Number(intValue);
  return Object.fromEntries(pairs.map(({ key, value }) => [key, read(value)]));
}
