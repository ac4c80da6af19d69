import type { Context } from "koa";
import type { Group } from "../../../wire/group.ts";
import {
  countsOf,
  endedOf,
  hasEnded,
  headlineOf,
  lookOf,
  numberOf,
  placeOf,
  titleOf,
  waitOf,
} from "../browser/group/group-words.js";
import { replyPage } from "../render.ts";

/** A page without a script reloads after this many seconds. */
const REFRESH_S = 15;

/**
 * Answers with the page of a group in its current state, which the script of the page then keeps up to date.
 * @param cancel where its tasks can be canceled; "" if the reader may not
 */
export function replyGroupPage(ctx: Context, group: Group, cancel: string): void {
  const link = (rel: string) => group.links.find((found) => found.rel === rel)?.href ?? "";
  ctx.status = hasEnded(group) ? 200 : 202;
  replyPage(ctx, "group/group.html", {
    title: titleOf(group),
    look: lookOf(group),
    queue: group.queue,
    headline: headlineOf(group),
    number: numberOf(group),
    ended: endedOf(group),
    counts: countsOf(group),
    place: placeOf(group),
    wait: waitOf(group),
    percent: String(group.progress.percent),
    id: group.id,
    created: group.createdAt,
    refresh: hasEnded(group) ? "" : String(REFRESH_S),
    events: link("events"),
    results: link("results"),
    cancel,
    group: JSON.stringify(group),
  });
}
