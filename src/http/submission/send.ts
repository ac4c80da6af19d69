import type { Context } from "koa";
import type { Original, Submission } from "../../engine/submission/submission.ts";
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
  const traced = tracing && !submission.options.dryRun ? tracing.submitted(submission, sent) : sent;
  return submission.original === undefined ? traced : noted(traced, api, submission.id, submission.original);
}

/** Notes in the original which task repeats it. The repetition is stored even if this fails. */
async function noted(
  sent: Promise<SubmissionVerdict>,
  { engine, log }: Api,
  id: string,
  original: Original,
): Promise<SubmissionVerdict> {
  const verdict = await sent;
  const failed = (error: unknown) =>
    log.warn(
      { original: original.id, err: error },
      "submission: could not note in the original task which task repeats it",
    );
  if (verdict.verdict === "new") await engine.tasks.noteAgain(original, id).catch(failed);
  return verdict;
}

/** The trace for the tasks of a request; "" if there is none. */
export function traceFor(ctx: Context): string {
  return tracingOf(ctx)?.current() || traceOf(ctx.headers);
}
