import type { Context } from "koa";
import { oneParameter } from "../../wire/request.ts";
import { searchOf } from "../input/parameters.ts";
import { EVENTS } from "./streams.ts";

/**
 * The id of the last event that a client has received, "" if none.
 * @throws ProblemError invalid-parameter
 */
export function lastEventId(ctx: Context): string {
  return ctx.get("Last-Event-ID") || (oneParameter(searchOf(ctx), "lastEventId") ?? "");
}

/**
 * Answers a request for events that needs no stream: a HEAD request, or that of a client that has received the final event.
 * @returns whether it is answered
 */
export function isAnsweredWithoutEvents(ctx: Context, hasFinal: boolean): boolean {
  // 204 stops an EventSource from reconnecting (WHATWG HTML §9.2.3).
  if (hasFinal) ctx.status = 204;
  else if (ctx.method === "HEAD") {
    ctx.set(EVENTS.headers);
    ctx.status = 200;
  }
  return hasFinal || ctx.method === "HEAD";
}
