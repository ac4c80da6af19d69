import type { Reserved } from "../store/scripts.ts";
import type { Engine } from "./engine.ts";

/** How often whoever waits for work looks for itself, whatever is announced, ms. */
const LOOK_MS = 2000;

/** Who asks for work, and for how much. */
export interface TakeRequest {
  readonly queue: string;
  readonly worker: string;
  /** Unique to the request; sent again, it is answered with the same tasks. */
  readonly reservation: string;
  readonly count: number;
  readonly leaseMs: number;
}

/**
 * Takes tasks of a queue for a worker that is not part of this process; waits for some until the deadline (on the clock of
 * `Date.now()`) or until the signal fires. Resolves with none when there were none.
 * @throws PaihaoError store-unavailable
 */
export async function takeOrWait(
  engine: Engine,
  request: TakeRequest,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Reserved[]> {
  const { keys, notices } = engine;
  let wake: (() => void) | undefined;
  let announced = false;
  const onNotice = () => {
    announced = true;
    wake?.();
  };
  // First listen, then look: else the announcement could slip through between.
  const listening = keys.tags.map((_, p) => notices.listen(keys.workChannel(p, request.queue), onNotice));
  const unlisten = await Promise.all(listening);
  try {
    for (;;) {
      announced = false;
      const { tasks, pauseMs } = await takeNow(engine, request);
      const left = deadlineMs - Date.now();
      if (tasks.length > 0 || left <= 0 || signal.aborted) return tasks;
      if (announced) continue;
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          wake = undefined;
          resolve();
        };
        const timer = setTimeout(done, Math.min(left, pauseMs > 0 ? pauseMs : LOOK_MS));
        signal.addEventListener("abort", done);
        wake = done;
      });
    }
  } finally {
    for (const stop of unlisten) stop();
  }
}

/** Takes from each partition in turn, until there are as many as asked for. */
async function takeNow(engine: Engine, request: TakeRequest): Promise<{ tasks: Reserved[]; pauseMs: number }> {
  const { partitions } = engine.keys;
  const first = Math.floor(Math.random() * partitions);
  const tasks: Reserved[] = [];
  let pauseMs = 0;
  for (let i = 0; i < partitions && tasks.length < request.count; i += 1) {
    const count = request.count - tasks.length;
    const { rate } = engine.settings(request.queue);
    const taken = await engine.reserve((first + i) % partitions, { ...request, count, rate });
    tasks.push(...taken.tasks);
    pauseMs = Math.max(pauseMs, taken.pauseMs);
  }
  return { tasks, pauseMs };
}
