import { expect } from "chai";
import { readConfig } from "../../src/config/config.ts";
import { StartError } from "../../src/errors.ts";

const otelOf = (env: Record<string, string>) =>
  readConfig(Object.fromEntries(Object.entries(env).map(([name, value]) => [`OTEL_${name}`, value]))).otel;

const TARGET = { headers: {}, protocol: "http/protobuf", gzip: false, timeoutMs: 10_000 };
const SAMPLING = { sampler: "parentbased_always_on", ratio: 1, everyMs: 5000 };

describe("the variables of OpenTelemetry", () => {
  it("send nothing unless an endpoint or an exporter is named", () => {
    expect(otelOf({})).to.equal(undefined);
    expect(otelOf({ SERVICE_NAME: "shop", EXPORTER_OTLP_HEADERS: "a=b" })).to.equal(undefined);
    expect(otelOf({ EXPORTER_OTLP_ENDPOINT: "http://c:4318", SDK_DISABLED: "true" })).to.equal(undefined);
    const none = { TRACES_EXPORTER: "none", METRICS_EXPORTER: "none" };
    expect(otelOf({ EXPORTER_OTLP_ENDPOINT: "http://c:4318", ...none })).to.equal(undefined);
  });

  it("append the path of the signal to the common endpoint", () => {
    expect(otelOf({ EXPORTER_OTLP_ENDPOINT: "http://c:4318/base/" })).to.deep.equal({
      serviceName: "paihao",
      attributes: {},
      traces: { url: "http://c:4318/base/v1/traces", ...TARGET, ...SAMPLING },
      metrics: { url: "http://c:4318/base/v1/metrics", ...TARGET, everyMs: 60_000 },
    });
    expect(otelOf({ TRACES_EXPORTER: "otlp" })?.traces?.url).to.equal("http://localhost:4318/v1/traces");
  });

  it("prefer the variable for one signal", () => {
    const otel = otelOf({
      SERVICE_NAME: "shop",
      RESOURCE_ATTRIBUTES: "deployment.environment.name=test,team=a%20b",
      EXPORTER_OTLP_ENDPOINT: "http://c:4318",
      EXPORTER_OTLP_METRICS_ENDPOINT: "https://m.example/push",
      EXPORTER_OTLP_HEADERS: "authorization=Basic%20YQ==,x=1",
      EXPORTER_OTLP_METRICS_HEADERS: "x=2",
      EXPORTER_OTLP_METRICS_PROTOCOL: "http/json",
      EXPORTER_OTLP_COMPRESSION: "gzip",
      EXPORTER_OTLP_TIMEOUT: "500",
      TRACES_SAMPLER: "traceidratio",
      TRACES_SAMPLER_ARG: "0.25",
      BSP_SCHEDULE_DELAY: "100",
      METRIC_EXPORT_INTERVAL: "5000",
    });
    const common = { gzip: true, timeoutMs: 500 };
    expect(otel).to.deep.equal({
      serviceName: "shop",
      attributes: { "deployment.environment.name": "test", team: "a b" },
      traces: {
        ...{ url: "http://c:4318/v1/traces", headers: { authorization: "Basic YQ==", x: "1" } },
        ...{ protocol: "http/protobuf", ...common, sampler: "traceidratio", ratio: 0.25, everyMs: 100 },
      },
      metrics: {
        ...{ url: "https://m.example/push", headers: { x: "2" } },
        ...{ protocol: "http/json", ...common, everyMs: 5000 },
      },
    });
  });

  it("are refused if they cannot be used, without repeating what may be secret", () => {
    const refused = {
      EXPORTER_OTLP_PROTOCOL: "grpc",
      EXPORTER_OTLP_ENDPOINT: "c:4318/secret",
      EXPORTER_OTLP_HEADERS: "secret",
      TRACES_SAMPLER: "jaeger_remote",
      TRACES_SAMPLER_ARG: "1.5",
      TRACES_EXPORTER: "zipkin",
      RESOURCE_ATTRIBUTES: "a=%zz",
    };
    for (const [name, value] of Object.entries(refused)) {
      expect(() => otelOf({ [name]: value }), name)
        .to.throw(StartError, `OTEL_${name} is `)
        .with.property("message")
        .that.does.not.contain("secret");
    }
  });
});
