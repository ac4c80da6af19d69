import type { LinkSigner } from "./auth/link-signer.ts";
import type { Config } from "./config/config.ts";
import type { Inspection } from "./engine/reading/inspect.ts";
import type { Handler } from "./handler/define.ts";
import { isPrediction, predictionJson } from "./http/dialects/replicate/prediction.ts";
import { traceRequests } from "./http/middleware/trace.ts";
import type { Logger } from "./log.ts";
import { openTelemetry } from "./telemetry/telemetry.ts";
import { packageVersion } from "./version.ts";
import { undoHandler } from "./workers/undo.ts";

/**
 * What a server has that is not needed to run tasks; its routes are in `http/extras.ts`.
 * @throws StartError if a package is not installed that the configuration needs
 */
export async function openExtras(
  config: Config,
  { handlers, signer, log }: { handlers: ReadonlyMap<string, Handler>; signer: LinkSigner | undefined; log: Logger },
) {
  const parts = { log, version: packageVersion(), role: config.role };
  const { tracing, sendMetrics, stop } = await openTelemetry(config.otel, parts);
  return {
    /** Handlers of the server's own. */
    handlers: [undoHandler(handlers)],
    /** Options of the worker, and of the application. */
    worker: { tracing },
    app: { around: tracing ? [traceRequests(tracing)] : [] },
    /** The body of a webhook about a task that came in another API's dialect, in that dialect. */
    webhookBody: (seen: Inspection) =>
      config.replicate && isPrediction(seen.id)
        ? predictionJson(seen, { signature: signer?.sign("task", seen) })
        : undefined,
    /** Called with the metrics of the engine, when there is one. */
    start: sendMetrics,
    /** Resolves in time; idempotent. */
    stop,
  };
}
