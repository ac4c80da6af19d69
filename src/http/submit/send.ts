import type { Context } from "koa";
import type { Original, Submission } from "../../engine/submission/submission.ts";
import type { SubmissionVerdict } from "../../engine/submission/submit.ts";
import { traceOf } from "../../trace/trace-context.ts";
import type { Api } from "../api.ts";

/**
 * Submits a task in the trace of its request.
 * @param listen see `submit` of the engine
 */
export function send(ctx: Context, api: Api, submission: Submission, listen = false): Promise<SubmissionVerdict> {
  const { engine, tracing } = api;
  const settings = engine.queues.settings(submission.queue);
  const submit = (trace: string) => engine.tasks.submit(submission, settings, listen, trace);
  const sent = tracing && !submission.options.dryRun ? tracing.send(submission, submit) : submit(traceOf(ctx.headers));
  return submission.original === undefined ? sent : noted(sent, api, submission.id, submission.original);
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
