import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import type { Api } from "../../http/api.ts";
import { accessOf, keepsPresent, maySee } from "../../http/task/access.ts";
import { unknownTask } from "../../http/task/reply.ts";
import { isId } from "../../task.ts";
import { timestamp } from "../../wire/timestamp.ts";
import type { GroupInspection } from "./group-inspection.ts";
import { groupsOf } from "./groups.ts";

/**
 * Reads a group for a caller: one that the caller may not see is treated like an unknown one, as with tasks.
 * @throws ProblemError unknown, expired, store-unavailable
 */
export async function findGroup(
  ctx: Pick<Context, "state">,
  { engine }: Pick<Api, "engine">,
  id: string,
): Promise<GroupInspection> {
  const access = accessOf(ctx);
  const seen = isId(id) ? await groupsOf(engine).inspect(id, { attends: (seen) => keepsPresent(access, seen) }) : null;
  if (!seen || !maySee(access, seen)) throw access.link?.otherwise ?? unknownTask(id.slice(0, 128));
  if (!seen.expired) return seen;
  const { queue, state, finishedMs, expiresMs } = seen;
  throw new ProblemError("expired", undefined, {
    extensions: { id, queue, state, finishedAt: timestamp(finishedMs), expiredAt: timestamp(expiresMs) },
  });
}
