import { SHARED } from "../constants.ts";
import { type Argument, grouped, names, text, verb } from "../library/verb.ts";
import type { Lease } from "./lease.ts";
import type { Retention } from "./record.ts";

/** A task that has succeeded, with its encoded result. */
export interface Completion extends Lease, Retention {
  readonly result: string | Buffer;
  /**
   * Its service time in the statistics of the queue, ms, where that is not the time since it was taken; "none": it has none, as all tasks of
   * a batch but one.
   */
  readonly serviceMs?: number | "none" | undefined;
  /** Whether a webhook or a group may hear of the end, which makes it more work; not sent. */
  readonly announced?: boolean;
}

/** The verdict, see complete.lua. */
export type CompleteVerdict = "done" | "canceled" | "already" | "stale" | "unknown";

/** An end that this process reports to its own listeners: Redis does not send it a notice. */
interface OwnEnd {
  /** The index of the completion. */
  readonly nth: number;
  readonly attempts: number;
  /** On Redis's clock. */
  readonly finishedMs: number;
}

/** The verdicts of completions. */
export interface CompletionAnswer {
  readonly verdicts: readonly CompleteVerdict[];
  readonly own: readonly OwnEnd[];
}

const GROUP = names<Completion>("queue", "keepMs", "tombstoneMs");
const TASK = names<Completion>("id", "fence", "serviceMs", "result");

/**
 * Completes tasks with their results.
 * @param process the name of this process in records
 */
export const complete = {
  ...verb({
    layout: { args: ["process", "groups"], group: [...GROUP, "tasks"], task: TASK },
    write: (items: readonly Completion[], process: string = "") => completeArguments(process, items),
    read: (reply) => completed(text(reply)),
  }),
  weights: {
    sizeOf: ({ result }: Completion) => result.length,
    workOf: ({ announced }: Completion) => (announced ? SHARED.moveWork : 1),
  },
};

/** The arguments of complete.lua, and the last ones of reserve.lua. */
export const completeArguments = (process: string, items: readonly Completion[]): Argument[] => [
  process,
  ...grouped(items, GROUP, TASK),
];

/** Parses the reply of complete.lua. */
export function completed(reply: string): CompletionAnswer {
  if (reply === "") return { verdicts: [], own: [] };
  const own: OwnEnd[] = [];
  const verdicts = reply.split(" ").map((word, nth) => {
    if (!word.startsWith("done:")) return word as CompleteVerdict;
    const [, attempts, finished] = word.split(":");
    own.push({ nth, attempts: Number(attempts), finishedMs: Number(finished) });
    return "done";
  });
  return { verdicts, own };
}
