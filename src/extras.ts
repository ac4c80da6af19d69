import type { LinkSigner } from "./auth/link-signer.ts";
import type { Config } from "./config/config.ts";
import type { Inspection } from "./engine/reading/inspect.ts";
import type { Handler } from "./handler/define.ts";
import { inEachPartition } from "./handler/internal-queues.ts";
import { traceRequests } from "./http/middleware/trace.ts";
import { isPrediction, predictionJson } from "./http/replicate/prediction.ts";
import { storeFacts } from "./telemetry/store-facts.ts";
import { openTracing } from "./telemetry/tracing.ts";
import { packageVersion } from "./version.ts";
import { undoHandler } from "./workers/undo.ts";

/** What a server has that is not needed to run tasks; its routes are in `http/routes.ts`. */
export function openExtras(
  config: Config,
  parts: {
    readonly handlers: ReadonlyMap<string, Handler>;
    readonly signer: LinkSigner | undefined;
    readonly storeUrl: string;
  },
) {
  const { handlers, signer, storeUrl } = parts;
  const tracing = openTracing(packageVersion(), storeFacts(storeUrl));
  return {
    /** Handlers of the server's own. */
    handlers: inEachPartition(undoHandler(handlers), config.partitions),
    /** Options of the worker, and of the application. */
    worker: { tracing },
    app: { around: tracing ? [traceRequests(tracing)] : [] },
    /** The body of a webhook about a task that came in another API's dialect, in that dialect. */
    webhookBody: (seen: Inspection) =>
      config.replicate && isPrediction(seen.id)
        ? predictionJson(seen, { signature: signer?.sign("task", seen) })
        : undefined,
  };
}
