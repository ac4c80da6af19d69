import { type Line, lineOf } from "./line.ts";
import { list, number, optional } from "./reply.ts";
import type { Reply, Script } from "./script.ts";

/** A queue's figures for operators. */
export interface QueueRow {
  readonly line: Line;
  readonly dead: number;
  readonly oldestWaitingMs: number | null;
  readonly acceptedLastMinute: number;
  readonly finishedLastMinute: number;
}

/** The figures of queues. */
export const queue =
  (script: Script) =>
  async (tag: string, names: readonly string[]): Promise<QueueRow[]> =>
    list(await script.text(tag, names)).map(queueRow);

function queueRow(reply: Reply): QueueRow {
  const [line, dead, oldest, accepted, finished] = list(reply);
  return {
    line: lineOf(line),
    dead: number(dead),
    oldestWaitingMs: optional(oldest),
    acceptedLastMinute: number(accepted),
    finishedLastMinute: number(finished),
  };
}
