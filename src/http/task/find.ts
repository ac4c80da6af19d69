import type { Context } from "koa";
import type { Inspection } from "../../engine/inspect.ts";
import { isId } from "../../task.ts";
import type { Api } from "../api.ts";
import { accessOf, maySee } from "./access.ts";
import { unknownTask } from "./reply.ts";

/**
 * Reads a task for a caller. Every route with an id finds its task here: a task that the caller may not see is treated like an
 * unknown one, after the same read.
 * @throws PaihaoError unknown, store-unavailable
 */
export async function findTask(
  ctx: Pick<Context, "state">,
  api: Pick<Api, "engine">,
  id: string,
  look: { readonly result: boolean },
): Promise<Inspection> {
  const access = accessOf(ctx);
  // Otherwise the time of a refusal would reveal whether there is a result, and its size.
  const allowed = (task: Inspection) => maySee(access, task);
  const seen = isId(id) ? await api.engine.inspect(id, { ...look, allowed }) : null;
  // With an invalid link, existing and unknown tasks get the same response.
  if (!seen || !maySee(access, seen)) throw access.link?.otherwise ?? unknownTask(id.slice(0, 128));
  return seen;
}
