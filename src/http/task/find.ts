import type { Context } from "koa";
import type { Inspection } from "../../engine/inspect.ts";
import { isId } from "../../task.ts";
import type { Api } from "../api.ts";
import { accessOf, maySee } from "./access.ts";
import { unknownTask } from "./reply.ts";

/**
 * Looks at a task for whoever asks. Every route that is given an id finds its task here and nowhere else: what the caller may
 * not see is answered as what nobody has heard of, after the same look.
 * @throws PaihaoError unknown, store-unavailable
 */
export async function findTask(
  ctx: Pick<Context, "state">,
  api: Pick<Api, "engine">,
  id: string,
  look: { readonly result: boolean },
): Promise<Inspection> {
  const access = accessOf(ctx);
  // Else the time that a refusal takes would tell of a result, and how long it is.
  const allowed = (task: Inspection) => maySee(access, task);
  const seen = isId(id) ? await api.engine.inspect(id, { ...look, allowed }) : null;
  // A link that opens nothing says no more of a task that is there than of one that is not.
  if (!seen || !maySee(access, seen)) throw access.link?.otherwise ?? unknownTask(id.slice(0, 128));
  return seen;
}
