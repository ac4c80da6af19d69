import { list, number, text } from "./reply.ts";
import type { Reply, Script } from "./script.ts";

/** The slots that a live worker gives a queue. */
interface WorkerSlots {
  readonly queue: string;
  readonly worker: string;
  readonly slots: number;
}

/** What a live worker has told of itself. */
interface WorkerAbout {
  readonly worker: string;
  /** "" if it has told nothing. */
  readonly about: string;
  /** For how long that holds, ms. */
  readonly leftMs: number;
}

/** The live workers of queues. */
export const workers =
  (script: Script) =>
  async (
    tag: string,
    queues: readonly string[],
    most: number,
  ): Promise<{ nowMs: number; slots: WorkerSlots[]; abouts: WorkerAbout[] }> => {
    const [now, slots, abouts] = list(await script.text(tag, [most, ...queues]));
    return { nowMs: number(now), slots: list(slots).map(slotsOf), abouts: list(abouts).map(aboutOf) };
  };

function slotsOf(reply: Reply): WorkerSlots {
  const [queue, worker, slots] = list(reply);
  return { queue: text(queue), worker: text(worker), slots: number(slots) };
}

function aboutOf(reply: Reply): WorkerAbout {
  const [worker, about, left] = list(reply);
  return { worker: text(worker), about: text(about), leftMs: number(left) };
}
