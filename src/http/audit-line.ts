import type { Context } from "koa";
import type { Api } from "./api.ts";
import { accessOf, callerOf } from "./task/access.ts";

/** Logs what an operator has done, and with which key; a caller who ends a task of their own is none. */
export function logAction(
  ctx: Context,
  { log }: Pick<Api, "log">,
  action: string,
  what: { readonly queue: string; readonly [member: string]: unknown },
): void {
  log.info({ audit: action, by: callerOf(ctx), ...what }, `audit: ${action} in queue ${what.queue}`);
}

/** Whether a request does something to a task that only an operator may do. */
export function isOperator(ctx: Context, task: { readonly caller: string | null }): boolean {
  const { key, caller } = accessOf(ctx);
  return key === "off" || caller !== task.caller;
}
