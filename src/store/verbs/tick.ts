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

/** A jump of the store's clock: what it said before and after, ms. */
export interface ClockJump {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What a process knows of the store's clock. */
export interface ClockReading {
  /** What it says at least; undefined if the process has not seen it before. */
  readonly expectedMs: number | undefined;
  /** A jump forward since the last tick. */
  readonly jump: ClockJump | undefined;
}

/** What a tick has done. */
export interface Ticked {
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

/** How much one tick may do, and when it comes. */
export interface TickLimits {
  readonly limit: number;
  readonly deadCap: number;
  /** How long the process has waited on purpose since its last tick, where that is longer than usual, ms. */
  readonly pausedMs?: number;
}

/** Does what time does to queues. */
export const tick =
  (script: Script) =>
  async (
    tag: string,
    queues: readonly TickQueue[],
    { limit, deadCap, pausedMs = 0 }: TickLimits,
    { expectedMs, jump }: ClockReading = { expectedMs: undefined, jump: undefined },
  ): Promise<Ticked & { readonly nowMs: number }> => {
    const clock = [expectedMs ?? "", jump?.fromMs ?? "", jump?.toMs ?? ""];
    const args = queues.flatMap((q) => [q.queue, q.maxLost, q.keepMs, q.tombstoneMs, q.deadMs, q.problem]);
    const reply = await script.text(tag, [limit, deadCap, ...clock, pausedMs, queues.length, ...args]);
    const [promoted, next, lost, late, now, held, waiting] = list(reply);
    return {
      promoted: number(promoted),
      nextMs: optional(next),
      lost: list(lost).map(lostTask),
      late: list(late).map(lateTask),
      nowMs: number(now),
      held: number(held) === 1,
      waiting: list(waiting).map(text),
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
