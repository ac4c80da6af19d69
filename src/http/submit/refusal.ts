import { estimate } from "../../engine/estimates/estimate.ts";
import type { Submission } from "../../engine/tasks/submission.ts";
import type { SubmissionVerdict } from "../../engine/tasks/submit.ts";
import { ProblemError } from "../../errors.ts";
import { INTERNAL_QUEUES } from "../../handler/internal-queues.ts";
import type { QueueSnapshot } from "../../store/line/snapshot.ts";
import type { LimitReached } from "../../store/task/submit.ts";
import { wrongParameter } from "../../wire/request.ts";
import { fullRetryAfterS, pendingRetryAfterS, UNKNOWN_PLACE_S } from "../headers/retry-after.ts";
import type { OwnedTask } from "../request/access.ts";
import type { TaskLinks } from "../task/links.ts";
import { FAR } from "../task/move.ts";

/**
 * Why a submission is not answered as accepted; undefined if it is.
 * @param options `byKey`: its id was derived from an Idempotency-Key; `linksTo` a task
 */
export function refusalOf(
  { id, queue, caller }: Pick<Submission, "id" | "queue" | "caller">,
  { verdict, index, snapshot, createdMs, durable, reached }: SubmissionVerdict,
  { byKey, linksTo }: { byKey: boolean; linksTo(task: OwnedTask): TaskLinks },
): ProblemError | undefined {
  switch (verdict) {
    case "conflict":
      return byKey
        ? new ProblemError("idempotency-conflict", undefined, { extensions: { id } })
        : conflict(id, "The id was used with another input.");
    case "elsewhere":
      return conflict(id, "The id was used for another queue.");
    case "foreign":
      // The response does not even reveal whether the input is the same.
      return new ProblemError("id-conflict");
    case "full":
      return new ProblemError("queue-full", undefined, {
        extensions: { queue, waiting: snapshot.waiting, scheduled: snapshot.scheduled },
        retryAfterS: fullRetryAfterS(snapshot),
      });
    case "too-many":
      return tooMany(queue, reached, snapshot);
    case "late":
      return wrongParameter("deadline", "expected a later time than that of delay or notBefore");
    case "far":
      return wrongParameter("notBefore", FAR);
    case "closed":
      return new ProblemError("id-conflict", "The group takes no more tasks.");
    case "webhooks-full":
      return webhooksFull();
    case "long": {
      const eta = estimate(snapshot, { state: "waiting", index }, 0);
      return new ProblemError("line-too-long", undefined, {
        extensions: { queue, index, eta },
        retryAfterS: pendingRetryAfterS(eta, null),
      });
    }
    default:
      if (durable) return undefined;
      return new ProblemError("not-durable", "The task is stored and may run: submit it again under the same id.", {
        extensions: { id, queue },
        headers: { Location: linksTo({ id, caller, createdMs }).result },
      });
  }
}

/** The error of a submission with a webhook while too many deliveries wait. */
export function webhooksFull(): ProblemError {
  return new ProblemError(
    "queue-full",
    "Too many webhook deliveries are waiting. A submission without a webhook would be accepted.",
    { extensions: { queue: INTERNAL_QUEUES.webhooks }, retryAfterS: UNKNOWN_PLACE_S },
  );
}

/** The error for a caller with too many waiting tasks, who can submit again when the first of them starts. */
export function tooMany(queue: string, reached: LimitReached | undefined, snapshot: QueueSnapshot): ProblemError {
  if (!reached) return new ProblemError("too-many-tasks", undefined, { extensions: { queue } });
  const { first, ...figures } = reached;
  const eta = estimate(snapshot, { ...first, dueMs: first.dueInMs }, 0);
  return new ProblemError("too-many-tasks", `At most ${figures.limit} tasks of one caller may wait in this queue.`, {
    extensions: { queue, ...figures },
    retryAfterS: eta ? pendingRetryAfterS(eta, null) : UNKNOWN_PLACE_S,
  });
}

/** The error of an id that is taken. */
export function conflict(id: string, detail: string): ProblemError {
  return new ProblemError("id-conflict", detail, { extensions: { id } });
}
