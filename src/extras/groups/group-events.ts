import type { Context } from "koa";
import { groupAddress } from "../../engine/calls/homes.ts";
import type { Watch, Watched } from "../../engine/watch/watch.ts";
import type { Watchers } from "../../engine/watch/watchers.ts";
import type { Api } from "../../http/api.ts";
import { accessOf, keepsPresent } from "../../http/request/access.ts";
import type { Sender } from "../../http/request/forwarded.ts";
import { EVENTS, eventText } from "../../http/server/streams.ts";
import { groupDocumentOf, groupVersion, hasEnded } from "./group-document.ts";
import { type GroupInspection, groupVersionOf, isGroupKeptByLooks } from "./group-inspection.ts";
import type { Groups } from "./groups.ts";

/** The watchers of groups. */
export type GroupWatchers = Watchers<GroupInspection>;

/** The groups of an engine, of which thousands of members may end at about the same time. */
export function watchedGroups(
  { notices, queues }: Pick<Watched<GroupInspection>, "notices" | "queues">,
  groups: Pick<Groups, "inspect" | "attend">,
): Watched<GroupInspection> {
  return {
    ...{ notices, queues, restMs: 500, versionOf: groupVersionOf, isKeptByLooks: isGroupKeptByLooks },
    address: groupAddress,
    inspect: (id, listen) => groups.inspect(id, { listen }),
    attend: (seen) => groups.attend(seen),
    keptUntil: ({ presenceMs }, nowMs) => nowMs + (presenceMs ?? 0),
  };
}

/** Answers with the events of a group: `status` at once and on every change, then `done`. @throws ProblemError store-unavailable */
export async function followGroup(
  ctx: Context,
  api: Api,
  watchers: GroupWatchers,
  group: GroupInspection,
): Promise<void> {
  const watch = await watchers.watch(group, { keeps: keepsPresent(accessOf(ctx), group) });
  // Only the caller's state, not the whole request, since a stream may be open for hours.
  api.streams.send(ctx, EVENTS, { parts: groupEvents({ state: ctx.state }, watch, group), onClose: watch.stop });
}

async function* groupEvents(reader: Sender, watch: Watch<GroupInspection>, { createdMs }: GroupInspection) {
  let version = "";
  do {
    const { seen } = watch;
    // The group is unknown, or another one with the same id: a client that reconnects gets the right answer.
    if (seen?.createdMs !== createdMs) return;
    const current = groupVersion(seen);
    if (current === version) continue;
    version = current;
    const data = JSON.stringify(groupDocumentOf(reader, seen));
    // The last state has no id, so that a client disconnected before `done` gets both again.
    const ends = hasEnded(seen);
    const status = eventText({ name: "status", ...(!ends && { id: current }), data });
    yield ends ? status + eventText({ name: "done", id: current, data }) : status;
    if (ends) return;
  } while (await watch.next());
}
