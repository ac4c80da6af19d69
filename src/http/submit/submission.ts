import type { Context } from "koa";
import { nearest } from "../../config/nearest.ts";
import type { Submission } from "../../engine/tasks/submission.ts";
import type { Handler } from "../../handler/define.ts";
import type { SubmittedTask } from "../../handler/task-context.ts";
import { wrongParameter } from "../../wire/request.ts";
import { labelOf, SUBMIT_PARAMETERS, type SubmitOptions } from "../../wire/submission.ts";
import type { Api } from "../api.ts";
import { accessOf } from "../request/access.ts";
import type { CheckedInput } from "../request/body.ts";
import { lineKeysOf } from "./line-keys.ts";

/** The parts of a submission. */
interface SubmissionParts extends Pick<Submission, "id" | "identity" | "trace" | "original" | "member"> {
  readonly handler: Handler;
  /** Options whose webhook has been checked. */
  readonly options: SubmitOptions;
  readonly checked: CheckedInput;
}

const NO_KEYS: ReturnType<typeof lineKeysOf> = {};

/**
 * The submission of a request, or of a line of one.
 * @param ctx null if the server itself submits it: it has no caller
 * @throws ProblemError invalid-input if the handler's `by` gives no key
 */
export function assembleSubmission(
  ctx: Context | null,
  api: Pick<Api, "log">,
  { id, identity, trace, original, member, handler, options: given, checked }: SubmissionParts,
): Submission {
  const { queue, fair, keyed, limit, presenceMs } = handler;
  const { input, mediaType, value } = checked;
  const caller = ctx && accessOf(ctx).caller;
  const derivable = { id, queue, query: given.query, mediaType, caller };
  const named =
    given.label === null && handler.label ? { ...given, label: labelBy(handler, derivable, value, api) } : given;
  // The presence of a member is that of its group; nobody waits for what the server submits.
  const options =
    presenceMs === undefined || member || !ctx || given.presenceMs !== null ? named : { ...named, presenceMs };
  tellMisspelt(api, queue, options.query);
  const { share, key } = fair || keyed || limit ? lineKeysOf(ctx, handler, derivable, value, api.log) : NO_KEYS;
  return { id, queue, input, mediaType, identity, caller, options, share, key, trace, original, member };
}

/** What the handler calls a task; null if it gives no name, which refuses nothing. */
function labelBy({ label }: Handler, task: SubmittedTask, value: unknown, { log }: Pick<Api, "log">): string | null {
  try {
    const given: unknown = label?.(value, { ...task });
    // The rejection of a promise must not end the process.
    if (given instanceof Promise) given.catch(() => undefined);
    if (typeof given !== "string") throw new TypeError(`a label is a string, not ${typeof given}`);
    return labelOf(given) || null;
  } catch (error) {
    log.warn(
      { err: error, id: task.id, queue: task.queue },
      "the handler's label function failed; the task has no label",
    );
    return null;
  }
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
  const known = id !== undefined && (await api.engine.inspector.inspect(id, { result: false })) !== null;
  return known ? options : { ...options, webhook: await api.checkWebhook(webhook) };
}

/** The names of the options. */
const OPTIONS = SUBMIT_PARAMETERS.filter((parameter) => parameter.in === "query").map(({ name }) => name);

/** Names are from callers: after so many, nothing more is told. */
const MAX_TOLD = 100;

const toldBy = new WeakMap<object, Set<string>>();

/**
 * Tells in the log that a parameter for the handler is named almost like an option, such as `delya`: once for each queue and name. It is no
 * error, since the handler may want it.
 */
function tellMisspelt(api: Pick<Api, "log">, queue: string, query: SubmitOptions["query"]): void {
  for (const parameter of Object.keys(query)) {
    const meant = nearest(parameter, OPTIONS);
    if (meant === undefined) continue;
    const told = toldBy.get(api) ?? new Set();
    toldBy.set(api, told);
    const name = `${queue} ${parameter}`;
    if (told.has(name) || told.size >= MAX_TOLD) continue;
    told.add(name);
    const message = "a parameter of a submission went to the handler; was the option of a similar name meant?";
    api.log.warn({ queue, parameter, meant }, message);
  }
}
