import { estimate } from "../../engine/estimates/estimate.ts";
import type { SubmissionVerdict } from "../../engine/submission/submit.ts";
import { PaihaoError } from "../../errors.ts";
import { INTERNAL_QUEUES } from "../../handler/internal-queues.ts";
import { fullRetryAfterS, pendingRetryAfterS, UNKNOWN_PLACE_S } from "../headers/retry-after.ts";

/** Why a submission was not accepted; undefined if it was. `byKey`: its id was derived from an Idempotency-Key. */
export function refusalOf(
  { id, queue }: { readonly id: string; readonly queue: string },
  { verdict, index, snapshot }: SubmissionVerdict,
  options: { byKey: boolean },
): PaihaoError | undefined {
  switch (verdict) {
    case "conflict":
      return options.byKey
        ? new PaihaoError("idempotency-conflict", undefined, { extensions: { id } })
        : conflict(id, "The id was used with another input.");
    case "elsewhere":
      return conflict(id, "The id was used for another queue.");
    case "foreign":
      // The response does not even reveal whether the input is the same.
      return new PaihaoError("id-conflict");
    case "full":
      return new PaihaoError("queue-full", undefined, {
        extensions: { queue, waiting: snapshot.waiting, scheduled: snapshot.scheduled },
        retryAfterS: fullRetryAfterS(snapshot),
      });
    case "untold":
      return new PaihaoError("queue-full", "Too many deliveries of webhooks wait. Without a webhook it is accepted.", {
        extensions: { queue: INTERNAL_QUEUES.webhooks },
        retryAfterS: UNKNOWN_PLACE_S,
      });
    case "long": {
      const eta = estimate(snapshot, { state: "waiting", index }, Date.now());
      return new PaihaoError("line-too-long", undefined, {
        extensions: { queue, index, eta },
        retryAfterS: pendingRetryAfterS(eta, snapshot, null),
      });
    }
    default:
      return undefined;
  }
}

/** The error of an id that is taken. */
export function conflict(id: string, detail: string): PaihaoError {
  return new PaihaoError("id-conflict", detail, { extensions: { id } });
}
