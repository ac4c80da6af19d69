import { type Index, START } from "../keys.ts";
import { jsonVerb } from "../library/verb.ts";

/** The items that one call of a verification checks. */
export interface VerifyItems {
  /** The index that is checked; if left out, the tasks. For the line of a line key, `queue` is the queue and the line key; for the states of members the group; for groups "". */
  readonly index?:
    | {
        readonly name: Index | "shares" | "shareEnds" | "startable" | "keyLine" | "memberStates" | "group";
        readonly queue: string;
      }
    | undefined;
  readonly ids: readonly string[];
  /** Repair disagreements. */
  readonly heal: boolean;
}

/** Compares tasks with indexes, or the reverse; returns the ids that disagree. */
export const verify = jsonVerb<VerifyItems, readonly string[]>({
  isReading: ({ heal }) => !heal,
  sent: ({ index, ...items }) => ({ of: START[index?.name ?? "task"], queue: index?.queue ?? "", ...items }),
});
