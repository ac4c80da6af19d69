import type { Extension } from "../../extension.ts";
import { packageVersion } from "../../version.ts";
import { storeFacts } from "./store-facts.ts";
import { traceRequests } from "./trace-requests.ts";
import { openTracing } from "./tracing.ts";

/** Spans of requests and attempts, if an SDK of OpenTelemetry is registered in this process. */
export const telemetry: Extension = {
  start: ({ storeUrl }) => {
    const tracing = openTracing(packageVersion(), storeFacts(storeUrl));
    return tracing ? { tracing, around: traceRequests(tracing) } : {};
  },
};
