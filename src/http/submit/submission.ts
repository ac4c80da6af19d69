import type { Context } from "koa";
import type { Submission } from "../../engine/submission/submission.ts";
import type { Handler } from "../../handler/define.ts";
import { wrongParameter } from "../../wire/parameter.ts";
import type { SubmitOptions } from "../../wire/submit-options.ts";
import type { Api } from "../api.ts";
import type { CheckedInput } from "../input/body.ts";
import { accessOf } from "../task/access.ts";
import { lineKeysOf } from "./line-keys.ts";
import { tellMisspelt } from "./misspelt-options.ts";

/** The parts of a submission. */
interface SubmissionParts extends Pick<Submission, "id" | "identity" | "trace" | "original" | "member"> {
  readonly handler: Handler;
  /** Options whose webhook has been checked. */
  readonly options: SubmitOptions;
  readonly checked: CheckedInput;
}

const NO_KEYS: ReturnType<typeof lineKeysOf> = {};

/** The submission of a request, or of a line of one. @throws ProblemError invalid-input if the handler's `by` gives no key */
export function assembleSubmission(
  ctx: Context,
  api: Api,
  { id, identity, trace, original, member, handler, options: given, checked }: SubmissionParts,
): Submission {
  const { queue, fair, keyed, limit, presenceMs } = handler;
  const { input, mediaType, value } = checked;
  const { caller } = accessOf(ctx);
  // The presence of a member is that of its group.
  const options = presenceMs === undefined || member || given.presenceMs !== null ? given : { ...given, presenceMs };
  tellMisspelt(api, queue, options.query);
  const derivable = { id, queue, query: options.query, mediaType, caller };
  const { share, key } = fair || keyed || limit ? lineKeysOf(ctx, handler, derivable, value, api.log) : NO_KEYS;
  return { id, queue, input, mediaType, identity, caller, options, share, key, trace, original, member };
}

/**
 * The options, once their webhook is known to be allowed. If the id is already taken, the webhook does not change, so its name
 * is not resolved.
 * @param id of the task that is submitted; left out if there are several
 * @throws ProblemError invalid-parameter if the URL is not allowed
 */
export async function withWebhook(api: Api, options: SubmitOptions, id?: string): Promise<SubmitOptions> {
  const { webhook } = options;
  if (webhook === null) return options;
  if (!api.checkWebhook) throw wrongParameter("webhook", "this server sends no webhooks");
  const known = id !== undefined && (await api.engine.tasks.inspect(id, { result: false })) !== null;
  return known ? options : { ...options, webhook: await api.checkWebhook(webhook) };
}
