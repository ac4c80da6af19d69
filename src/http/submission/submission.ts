import type { Context } from "koa";
import type { Submission } from "../../engine/submission/submission.ts";
import type { Handler } from "../../handler/define.ts";
import type { Api } from "../api.ts";
import type { CheckedInput } from "../input/body.ts";
import { callerOf } from "../task/access.ts";
import { keyOf, shareOf } from "./line-keys.ts";
import type { SubmitOptions } from "./submit-options.ts";

/** The parts of a submission. */
interface SubmissionParts {
  readonly id: string;
  readonly handler: Handler;
  readonly options: SubmitOptions;
  readonly checked: CheckedInput;
  readonly webhook: string | null;
}

/** The submission of a request whose input has been read. @throws PaihaoError invalid-input if the handler's `by` gives no key */
export function submissionOf(
  ctx: Context,
  api: Api,
  { id, handler, options, checked, webhook }: SubmissionParts,
): Submission {
  const { queue } = handler;
  const { input, mediaType, value } = checked;
  const { priority, delayMs, deadlineMs, maxIndex, dryRun, query } = options;
  const caller = callerOf(ctx);
  const derivable = { id, queue, query, mediaType, caller };
  const share = handler.fair && shareOf(ctx, handler, derivable, value, api.log);
  const key = handler.keyed && keyOf(handler, derivable, value, api.log);
  // Member by member: copying objects into one another takes far longer, and this is done for every task.
  return {
    id,
    queue,
    input,
    mediaType,
    query,
    caller,
    priority,
    delayMs,
    deadlineMs,
    maxIndex,
    dryRun,
    webhook,
    share,
    key,
  };
}
