import type { Context } from "koa";
import type { Watchers } from "../../engine/watching/watchers.ts";
import { type EventStreams, eventText } from "../../http/live/event-streams.ts";
import { handOver } from "../../http/server/response.ts";
import { accessOf, keepsPresent } from "../../http/task/access.ts";
import { groupDocumentOf, groupVersion, hasEnded } from "./group-document.ts";
import type { GroupInspection } from "./group-inspection.ts";

/** The watchers of groups. */
export type GroupWatchers = Watchers<GroupInspection>;

/** Answers with the events of a group: `status` at once and on every change, then `done`. @throws ProblemError store-unavailable */
export async function followGroup(
  ctx: Context,
  watchers: GroupWatchers,
  streams: EventStreams,
  group: GroupInspection,
): Promise<void> {
  const { createdMs } = group;
  // Only the caller's state, not the whole request, since a stream may be open for hours.
  const reader = { state: ctx.state };
  let stream: ReturnType<EventStreams["open"]> | undefined;
  let version = "";
  /** A change that arrived before the beginning. */
  let early: GroupInspection | null | undefined;
  const tell = (seen: GroupInspection | null): void => {
    if (!stream) {
      early = seen;
      return;
    }
    // The group is unknown, or another one with the same id: a client that reconnects gets the right answer.
    if (!seen || seen.createdMs !== createdMs) return stream.end();
    const current = groupVersion(seen);
    if (current === version) return;
    version = current;
    const data = JSON.stringify(groupDocumentOf(reader, seen));
    // The last state has no id, so that a client disconnected before `done` gets both again.
    if (!hasEnded(seen)) return stream.send(eventText({ name: "status", id: current, data }));
    stream.end(eventText({ name: "status", data }) + eventText({ name: "done", id: current, data }));
  };
  const { first, stop } = await watchers.watch(group, tell, keepsPresent(accessOf(ctx), group));
  stream = streams.open(handOver(ctx), { close: stop });
  tell(early === undefined ? first : early);
}
