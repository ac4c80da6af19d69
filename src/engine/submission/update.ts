import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";
import type { UpdateVerdict } from "../../store/verbs/update.ts";
import { newCall } from "../calls/new-call.ts";
import type { QueueSettings } from "../settings.ts";
import { itemOf, type Submission } from "./submission.ts";

/** Replaces the input of a task that has not started, on the connection of large values if the input is large. */
export function update(
  { scripts, large, keys }: { readonly scripts: Scripts; readonly large: Scripts; readonly keys: Keys },
  submission: Submission,
  settings: QueueSettings,
  revision?: number,
): Promise<UpdateVerdict> {
  const item = { ...itemOf(submission, settings), call: newCall(), revision };
  return (item.large ? large : scripts).update(keys.tagOfQueue(item.queue), item);
}
