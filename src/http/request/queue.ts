import { hint } from "../../config/nearest.ts";
import type { Engine } from "../../engine/engine.ts";
import { ProblemError } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";

/** The handlers to whose queues a request may go, by their names. */
interface Handlers {
  readonly handlers: ReadonlyMap<string, Handler>;
}

/** The handler of a queue. @throws ProblemError unknown-queue */
export function handlerOf(api: Handlers, queue: string): Handler {
  const handler = api.handlers.get(queue);
  if (!handler)
    throw new ProblemError("unknown-queue", thereAre(api, queue), { extensions: { queue: queue.slice(0, 64) } });
  return handler;
}

/** Maximum number of queues that an error names. */
const NAMED = 8;

/** The queues that there are, which every caller may list, and the one that was probably meant. */
function thereAre({ handlers }: Handlers, queue: string): string {
  const names = [...handlers.keys()].sort();
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return `There are ${names.slice(0, NAMED).join(", ")}${more}${hint(queue, names) || "."}`;
}

/**
 * Whether inputs may be submitted to this handler. A gateway's takes requests only by a route of its own, which decides what is
 * forwarded to the API behind it.
 */
export function takesInputs(handler: Handler | undefined): handler is Handler {
  return handler !== undefined && handler.entrance === undefined;
}

/** The handler of a queue that takes inputs. @throws ProblemError unknown-queue */
export function inputHandlerOf(api: Handlers, queue: string): Handler {
  const handler = handlerOf(api, queue);
  if (handler.entrance === undefined) return handler;
  throw new ProblemError("unknown-queue", `The queue takes requests only at ${handler.entrance}.`, {
    extensions: { queue },
  });
}

/**
 * The name of a queue to inspect or manage: also one of the server's own, one of other processes, or one without a handler.
 * @throws ProblemError unknown-queue
 */
export function shownQueue(api: Handlers & { readonly engine: Pick<Engine, "queues"> }, queue: string): string {
  return api.engine.queues.has(queue) ? queue : handlerOf(api, queue).queue;
}
