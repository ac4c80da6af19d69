import { expect } from "chai";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { type Collector, startCollector } from "./collector.ts";

describe("metrics for a collector", () => {
  let collector: Collector;
  let server: TestServer;
  before(async () => {
    collector = await startCollector();
    server = await startServer({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_EXPORTER: "none",
      OTEL_METRIC_EXPORT_INTERVAL: "100",
    });
    await server.post("default", 1);
    await server.post("default", 2);
    await server.send("/nowhere");
  });
  after(async () => {
    await server.stop();
    await collector.close();
  });

  const points = (name: string) => collector.metrics.find((metric) => metric.name === name)?.points ?? [];

  it("have the names of the semantic conventions, and the figures of /metrics", async () => {
    const process = { "messaging.system": "paihao", "messaging.destination.name": "default" };
    // The last request is among them, and both attempts, which are counted after their callers have been answered.
    await eventually(() => {
      expect(points("http.server.request.duration")).to.deep.include({
        facts: { "http.request.method": "GET", "url.scheme": "http", "http.response.status_code": 404 },
        value: 1,
      });
      expect(points("messaging.process.duration")).to.deep.include({
        facts: { ...process, "messaging.operation.name": "process" },
        value: 2,
      });
    });
    expect(points("messaging.client.sent.messages")).to.deep.include({
      facts: { ...process, "messaging.operation.name": "submit" },
      value: 2,
    });
    expect(points("messaging.client.consumed.messages")).to.deep.include({
      facts: { ...process, "messaging.operation.name": "process" },
      value: 2,
    });
    const route = "/v1/queues/:queue/requests";
    expect(points("http.server.request.duration")).to.deep.include({
      facts: {
        "http.request.method": "POST",
        "url.scheme": "http",
        "http.route": route,
        "http.response.status_code": 200,
      },
      value: 2,
    });
    const { text } = await server.send("/metrics");
    expect(text).to.include('paihao_attempt_duration_seconds_count{queue="default",end="result"} 2');
  });

  it("have units, and names of our own if there is no convention", async () => {
    await eventually(() => collector.metrics.length > 0);
    const units = Object.fromEntries(collector.metrics.map(({ name, unit, type }) => [name, [unit, type]]));
    expect(units).to.deep.include({
      "http.server.request.duration": ["s", "histogram"],
      "messaging.process.duration": ["s", "histogram"],
      "paihao.queue.oldest_wait": ["s", "gauge"],
      "paihao.store.memory_used": ["By", "gauge"],
      "paihao.queue.tasks": ["1", "gauge"],
      "paihao.submissions": ["1", "sum"],
    });
    const others = Object.keys(units).filter((name) => !/^(paihao|messaging|http)\./.test(name));
    expect(others).to.deep.equal([]);
    const waiting = { "messaging.destination.name": "default", "paihao.state": "waiting" };
    expect(points("paihao.queue.tasks")).to.deep.include({ facts: waiting, value: 0 });
    expect(points("paihao.store.up")).to.deep.equal([{ facts: {}, value: 1 }]);
  });
});
