import type { Call } from "./answers.ts";
import { each, names, verb, written } from "./codec.ts";
import { number } from "./reply.ts";
import { BATCH_LIMIT } from "./script.ts";

type Retry = { readonly id: string } & Call;

/** The verdict on the retry of a dead task, see dead.lua. */
export type RetryVerdict = "waiting" | "not-dead" | "undone" | "unknown";

interface DeadDeletion extends Call {
  readonly queue: string;
  readonly limit: number;
}

const RETRY = names<Retry>("id", "call");
const DELETION = names<DeadDeletion>("queue", "limit", "call");

/** Retries dead tasks. */
export const retry = verb(
  { item: RETRY },
  (script) =>
    (tag: string, items: readonly Retry[]): Promise<RetryVerdict[]> =>
      each(script, tag, RETRY, items),
);

/** Deletes dead tasks, the oldest first; returns how many. */
export const deleteDead = verb(
  { args: DELETION },
  (script) =>
    async (tag: string, of: DeadDeletion): Promise<number> =>
      number(await script.text(tag, written(DELETION, { ...of, limit: Math.min(of.limit, BATCH_LIMIT) }))),
);
