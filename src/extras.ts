import type { LinkSigner } from "./auth/link-signer.ts";
import type { Config } from "./config/config.ts";
import type { Inspection } from "./engine/reading/inspect.ts";
import type { Handler } from "./handler/define.ts";
import { isPrediction, predictionJson } from "./http/dialects/replicate/prediction.ts";
import { undoHandler } from "./workers/undo.ts";

/** The handlers of the server's own that are not needed to run tasks; see `http/extras.ts` for routes. */
export function extraHandlers(handlers: ReadonlyMap<string, Handler>): Handler[] {
  return [undoHandler(handlers)];
}

/** The body of a webhook about a task that came in another API's dialect, in that dialect. */
export function webhookBodyOf(
  seen: Inspection,
  { replicate }: Pick<Config, "replicate">,
  signer: LinkSigner | undefined,
): string | undefined {
  return replicate && isPrediction(seen.id) ? predictionJson(seen, { signature: signer?.sign(seen) }) : undefined;
}
