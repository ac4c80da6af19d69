// Traces, with OpenTelemetry's own SDK: npm install @opentelemetry/sdk-node, then start with NODE_OPTIONS="--import=./deploy/otel.mjs".
// It reads OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER and all others of its variables.
import { NodeSDK } from "@opentelemetry/sdk-node";

// Collectors take both forms. With all requests traced, an accept costs 1.6 times one without traces, and 1.9 times with http/protobuf
// (npm run bench -- tracing).
process.env.OTEL_EXPORTER_OTLP_PROTOCOL ??= "http/json";

new NodeSDK().start();
