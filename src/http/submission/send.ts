import type { Context } from "koa";
import type { Submission } from "../../engine/submission/submission.ts";
import type { SubmissionVerdict } from "../../engine/submission/submit.ts";
import { traceOf } from "../../telemetry/trace-context.ts";
import type { Api } from "../api.ts";
import { tracingOf } from "../middleware/trace.ts";

/**
 * Submits a task in the trace of its request.
 * @param listen see `submit` of the engine
 */
export function send(ctx: Context, api: Api, submission: Submission, listen = false): Promise<SubmissionVerdict> {
  const { engine } = api;
  const tracing = tracingOf(ctx);
  const sent = engine.tasks.submit(submission, engine.queues.settings(submission.queue), listen, traceFor(ctx));
  return tracing && !submission.options.dryRun ? tracing.submitted(submission, sent) : sent;
}

/** The trace for the tasks of a request; "" if there is none. */
export function traceFor(ctx: Context): string {
  return tracingOf(ctx)?.current() || traceOf(ctx.headers);
}
