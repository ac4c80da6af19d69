import type { Context } from "koa";
import type { Submission } from "../../engine/submission/submission.ts";
import type { SubmissionVerdict } from "../../engine/submission/submit.ts";
import { traceOf } from "../../telemetry/trace-context.ts";
import type { Api } from "../api.ts";

/**
 * Submits a task in the trace of its request.
 * @param listen see `submit` of the engine
 */
export function send(ctx: Context, api: Api, submission: Submission, listen = false): Promise<SubmissionVerdict> {
  const settings = api.engine.settings(submission.queue);
  const submit = (trace: string) => api.engine.submit(submission, settings, listen, trace);
  if (!api.tracing || submission.dryRun) return submit(traceOf(ctx.headers));
  return api.tracing.send(submission, submit);
}

/** The trace for tasks that are submitted without a span of their own; "" if there is none. */
export function commonTrace(ctx: Context, api: Pick<Api, "tracing">): string {
  return api.tracing?.current() || traceOf(ctx.headers);
}
