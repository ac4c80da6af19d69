import { counted, named, names, verb, written } from "./codec.ts";
import { list, number, optional, type Reply, text } from "./reply.ts";
import { DEAD_CAP, type Retention } from "./settle.ts";

/** A queue of a tick, with the facts about the end of its lost tasks. */
export interface TickQueue extends Retention {
  readonly queue: string;
  readonly maxLost: number;
  readonly deadMs: number;
  /** Stored form of the result of a task that is dead because of lost workers. */
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

/** A task that is canceled by time: removed from the line, or asked to stop if it runs. */
interface LateTask {
  readonly queue: string;
  readonly id: string;
  readonly verdict: "canceled" | "requested";
  /** Its deadline has passed, or nobody has looked at it. */
  readonly reason: "deadline" | "abandoned";
}

/** The result of a tick. */
export interface TickAnswer {
  readonly promoted: number;
  /** Milliseconds until something is due; null when nothing is. */
  readonly nextMs: number | null;
  readonly lost: readonly LostTask[];
  readonly late: readonly LateTask[];
  /** Whether any lease is held. */
  readonly held: boolean;
  /** The queues in which tasks wait. */
  readonly waiting: readonly string[];
}

/** Limits of one tick, and its timing. */
interface TickLimits {
  readonly limit: number;
  readonly deadCap?: number;
  /** How long the process has deliberately waited since its last tick, if longer than usual, ms. */
  readonly pausedMs?: number;
}

const ARGS = names<TickLimits>("limit", "deadCap", "pausedMs");
const QUEUE = names<TickQueue>("queue", "maxLost", "keepMs", "tombstoneMs", "deadMs", "problem");
const ANSWER = ["promoted", "nextMs", "lost", "late", "held", "waiting"] as const;
const LOST = names<LostTask>("queue", "id", "worker", "losses", "fate");
const LATE = names<LateTask>("queue", "id", "verdict", "reason");

/** Applies the passage of time to queues. */
export const tick = verb({
  layout: { args: ARGS, item: QUEUE, answer: ANSWER, lost: LOST, late: LATE },
  write: (queues: readonly TickQueue[], { limit, deadCap = DEAD_CAP, pausedMs = 0 }: TickLimits) => [
    ...written(ARGS, { limit, deadCap, pausedMs }),
    ...counted(QUEUE, queues),
  ],
  read: (reply): TickAnswer => {
    const { promoted, nextMs, lost, late, held, waiting } = named(ANSWER, reply);
    return {
      promoted: number(promoted),
      nextMs: optional(nextMs),
      lost: list(lost).map(lostTask),
      late: list(late).map(lateTask),
      held: number(held) === 1,
      waiting: list(waiting).map(text),
    };
  },
});

function lateTask(reply: Reply): LateTask {
  const { queue, id, verdict, reason } = named(LATE, reply);
  return {
    queue: text(queue),
    id: text(id),
    verdict: text(verdict) as LateTask["verdict"],
    reason: text(reason) as LateTask["reason"],
  };
}

function lostTask(reply: Reply): LostTask {
  const { queue, id, worker, losses, fate } = named(LOST, reply);
  return {
    queue: text(queue),
    id: text(id),
    worker: text(worker),
    losses: number(losses),
    fate: text(fate) as LostTask["fate"],
  };
}
