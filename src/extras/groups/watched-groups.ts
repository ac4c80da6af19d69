import { groupAddress } from "../../engine/calls/homes.ts";
import type { Watched } from "../../engine/watch/watched.ts";
import { type GroupInspection, isGroupKeptByLooks } from "./group-inspection.ts";
import type { Groups } from "./groups.ts";

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

/** The version of a group as its watchers see it: state, counts, the place of its last member and cancel request. */
export function groupVersionOf({ state, counts, index, cancelRequested, finishedMs }: GroupInspection): string {
  return JSON.stringify([state, Object.values(counts), index, cancelRequested, finishedMs]);
}
