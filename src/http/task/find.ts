import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { ProblemError } from "../../errors.ts";
import { isFollower, isId } from "../../task.ts";
import { timestamp } from "../../wire/document.ts";
import type { Api } from "../api.ts";
import { accessOf, keepsPresent, maySee } from "../request/access.ts";
import { unknownTask } from "./reply.ts";
import { WITH_PROBLEM } from "./task-document.ts";

/**
 * Reads a task for a caller. Every route with an id finds its task here: a task that the caller may not see is treated like an
 * unknown one, after the same read.
 * @throws ProblemError unknown, store-unavailable
 */
export async function findTask(
  ctx: Pick<Context, "state">,
  api: Pick<Api, "engine">,
  id: string,
  look: { readonly result: boolean; readonly inPieces?: boolean },
): Promise<Inspection> {
  const access = accessOf(ctx);
  // Otherwise the time of a refusal would reveal whether there is a result, and its size.
  const allowed = (task: Inspection) => maySee(access, task);
  const isAllowed = isId(id) || (access.scopes.has("read") && isFollower(id));
  const attends = (task: Inspection) => keepsPresent(access, task);
  const seen = isAllowed ? await api.engine.inspector.inspect(id, { ...look, allowed, attends }) : null;
  // With an invalid link, existing and unknown tasks get the same response.
  if (!seen || !maySee(access, seen)) throw access.link?.otherwise ?? unknownTask(id.slice(0, 128));
  return seen;
}

/** Reads a task, with its problem if it failed. @throws ProblemError unknown, deleted */
export async function observe(ctx: Pick<Context, "state">, api: Api, id: string): Promise<Inspection> {
  const seen = await findTask(ctx, api, id, { result: false });
  if (seen.deleted) {
    const { queue, state, finishedMs } = seen;
    throw new ProblemError("deleted", undefined, {
      extensions: { id, queue, state, finishedAt: timestamp(finishedMs) },
    });
  }
  return seen.state === "failed" ? await withProblem(api, seen) : seen;
}

/** The same for a task that has ended, with its result or problem, if short enough for its last event. */
export async function observeEnd(ctx: Pick<Context, "state">, api: Api, id: string): Promise<Inspection> {
  const seen = await observe(ctx, api, id);
  if (seen.state !== "succeeded" || seen.expired) return seen;
  return await withProblem(api, seen);
}

/** Reads a task again, with its result or problem. */
async function withProblem({ engine }: Api, seen: Inspection): Promise<Inspection> {
  const read = await engine.inspector.inspect(seen.id, WITH_PROBLEM);
  // A later task may have got the id.
  return read && read.createdMs === seen.createdMs ? read : seen;
}
