import type { Context } from "koa";
import type { Inspection } from "../engine/watch/inspect.ts";
import type { CancelVerdict } from "../store/task/actions.ts";
import type { Api } from "./api.ts";
import { accessOf } from "./request/access.ts";

/** Writes what an operator has done, and with which API key, to the audit log. */
export function logAction(
  ctx: Context,
  { log }: Pick<Api, "log">,
  action: string,
  what: { readonly queue: string; readonly [member: string]: unknown },
): void {
  log.info({ audit: action, by: accessOf(ctx).caller, ...what }, `audit: ${action} in queue ${what.queue}`);
}

/** Writes to the audit log that an operator has canceled a task or deleted its result. Callers who end their own tasks are not logged. */
export function logEnd(
  ctx: Context,
  api: Pick<Api, "log">,
  { id, queue, caller }: Pick<Inspection, "id" | "queue" | "caller">,
  verdict: CancelVerdict,
): void {
  const access = accessOf(ctx);
  const isOperator = access.key === "off" || access.caller !== caller;
  const action = ACTIONS[verdict];
  if (isOperator && action !== undefined) logAction(ctx, api, action, { queue, id });
}

/** What has been done; nothing if the task had ended, or is unknown. */
const ACTIONS: Readonly<Partial<Record<CancelVerdict, string>>> = {
  canceled: "cancel",
  requested: "cancel",
  deleted: "delete",
};
