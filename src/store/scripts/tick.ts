import { list, number, optional, text } from "./reply.ts";
import type { Reply, Script } from "./script.ts";
import type { Retention } from "./settle.ts";

/** A queue that time is to be applied to, with what its lost tasks are given. */
export interface TickQueue extends Retention {
  readonly queue: string;
  readonly maxLost: number;
  readonly deadMs: number;
  /** Stored form of the answer of a task that dies of lost workers. */
  readonly problem: string | Buffer;
}

/** A task whose lease has expired. */
export interface LostTask {
  readonly queue: string;
  readonly id: string;
  readonly worker: string;
  readonly losses: number;
  readonly fate: "waiting" | "released" | "dead" | "canceled";
}

/** A task whose deadline has passed: out of the line, or, while it runs, asked to stop. */
interface LateTask {
  readonly queue: string;
  readonly id: string;
  readonly verdict: "canceled" | "requested";
}

/** What a tick has done. */
export interface Ticked {
  readonly promoted: number;
  /** Milliseconds until something is due; null when nothing is. */
  readonly nextMs: number | null;
  readonly lost: readonly LostTask[];
  readonly late: readonly LateTask[];
}

/** Does what time does to queues. */
export const tick =
  (script: Script) =>
  async (
    tag: string,
    queues: readonly TickQueue[],
    { limit, deadCap }: { limit: number; deadCap: number },
  ): Promise<Ticked> => {
    const args = queues.flatMap((q) => [q.queue, q.maxLost, q.keepMs, q.tombstoneMs, q.deadMs, q.problem]);
    const [promoted, next, lost, late] = list(await script.text(tag, [limit, deadCap, queues.length, ...args]));
    return {
      promoted: number(promoted),
      nextMs: optional(next),
      lost: list(lost).map(lostTask),
      late: list(late).map(lateTask),
    };
  };

function lateTask(reply: Reply): LateTask {
  const [queue, id, verdict] = list(reply);
  return { queue: text(queue), id: text(id), verdict: text(verdict) as LateTask["verdict"] };
}

function lostTask(reply: Reply): LostTask {
  const [queue, id, worker, losses, fate] = list(reply);
  return {
    queue: text(queue),
    id: text(id),
    worker: text(worker),
    losses: number(losses),
    fate: text(fate) as LostTask["fate"],
  };
}
