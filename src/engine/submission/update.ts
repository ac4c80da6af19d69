import type { Keys } from "../../store/keys.ts";
import type { Scripts, UpdateVerdict } from "../../store/verbs/scripts.ts";
import { newCall } from "../calls/new-call.ts";
import type { Homes } from "../partitions/homes.ts";
import type { QueueSettings } from "../settings.ts";
import { itemOf, type Submission } from "./submission.ts";

/** Replaces the input of a task that has not started, on the connection of large values if the input is large. */
export function update(
  parts: { readonly scripts: Scripts; readonly large: Scripts; readonly keys: Keys; readonly homes: Homes },
  submission: Submission,
  settings: QueueSettings,
  revision?: number,
): Promise<UpdateVerdict> {
  const { scripts, large, keys, homes } = parts;
  const item = { ...itemOf(submission, settings, keys.partitions), call: newCall(), revision };
  const sender = item.large ? large : scripts;
  return homes.at(
    item.id,
    (partition) => sender.update(keys.tag(partition), item),
    (verdict) => verdict === "unknown",
  );
}
