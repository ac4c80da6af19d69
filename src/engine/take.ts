import { setTimeout as sleep } from "node:timers/promises";
import { PaihaoError } from "../errors.ts";
import type { Keys } from "../store/keys.ts";
import type { Part, Reserved } from "../store/scripts/scripts.ts";
import { failureOf, INPUT_GONE, INPUT_UNREAD } from "./attempt-end.ts";
import type { Engine } from "./engine.ts";
import { newCall } from "./new-call.ts";

/** How often whoever waits for work looks for itself, whatever is announced, ms. */
const LOOK_MS = 2000;
/** How long the first look waits for the announcements to be listened to, ms: a partition that is away may not answer. */
const LISTEN_MS = 500;
/** Pauses before a partition that did not answer is told again that what it gave is handed back, ms: doubled up to the most. */
const RETRY = { firstMs: 200, mostMs: 5000 } as const;
/** For how long that is tried, ms: after it the leases end by themselves. */
const CLOSING_MS = 60_000;

/** Who asks for work, and for how much. */
export interface TakeRequest {
  readonly queue: string;
  readonly worker: string;
  /** Unique to the request; sent again, it is answered with the same tasks. */
  readonly reservation: string;
  readonly count: number;
  readonly leaseMs: number;
}

/** A task that was taken, with its input. */
export interface WithInput extends Reserved {
  readonly input: Buffer;
}

/** What was taken for a worker. */
export interface Taken {
  readonly tasks: readonly WithInput[];
  /** Hands it all back, where nobody is there to be told of it; what cannot be handed back now is, in the background. */
  handBack(): Promise<void>;
}

/**
 * Takes tasks of a queue for a worker that is not part of this process; waits for some until the deadline (on the clock of
 * `Date.now()`) or until the signal fires. Takes none when there were none.
 * @throws PaihaoError store-unavailable when no partition can be asked
 */
export async function takeOrWait(
  engine: Engine,
  request: TakeRequest,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Taken> {
  const { keys, pubsub } = engine;
  const take = new Take(engine, request);
  let wake: (() => void) | undefined;
  let announced = false;
  const onNotice = () => {
    announced = true;
    wake?.();
  };
  // First listen, then look: else the announcement could slip through between.
  const listening = keys.tags.map((_, p) => pubsub.listen(keys.workChannel(p, request.queue), onNotice));
  await Promise.race([Promise.all(listening), sleep(LISTEN_MS, undefined, { ref: false })]);
  try {
    for (;;) {
      announced = false;
      const { tasks, pauseMs, again } = await take.look();
      const left = deadlineMs - Date.now();
      if (tasks.length > 0) return { tasks: await withInputs(engine, request, tasks), handBack: () => take.handBack() };
      // It was sent before, and had been given nothing: what has come since is for this one.
      if (again) continue;
      if (left <= 0 || signal.aborted) return { tasks: [], handBack: async () => undefined };
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
    take.closeSilent();
    for (const listened of listening) void listened.then((stop) => stop());
  }
}

/** Reads the inputs that are long; a task whose input cannot be read is put off, and one that has none any more fails. */
async function withInputs(engine: Engine, { queue }: TakeRequest, tasks: readonly Reserved[]): Promise<WithInput[]> {
  const read = tasks.map(async (task): Promise<WithInput[]> => {
    const input = await engine.inputOf(task).catch(() => undefined);
    if (input) return [{ ...task, input }];
    const settings = engine.settings(queue);
    const facts = { settings, attempt: task.attempt };
    const failure = failureOf(input === null ? INPUT_GONE : INPUT_UNREAD, facts, Math.random());
    // Where this cannot be told either, the lease ends by itself.
    await engine.fail({ queue, id: task.id, fence: task.fence }, failure, settings).catch(() => undefined);
    return [];
  });
  return (await Promise.all(read)).flat();
}

/** What a partition gave in one look. */
interface Share extends Part {
  readonly partition: number;
  readonly tasks: readonly Reserved[];
}

/** What one look at all partitions brought. */
interface Look {
  readonly tasks: readonly Reserved[];
  /** For how long the rate allows no more. */
  readonly pauseMs: number;
  /** Nothing, but by a decision that was made for an earlier sender of the request. */
  readonly again: boolean;
}

/**
 * One sender of a request. All who send the request ask the partitions in the same order, and each partition decides its part
 * once (lua/lib/request.lua), so that all of them get the same tasks however they overlap.
 */
class Take {
  readonly #engine: Engine;
  readonly #request: TakeRequest;
  readonly #holder = newCall();
  /** The last generation that is known, and the last that is known to be empty. */
  #generation = 0;
  #after = 0;
  /** The partitions that did not answer when they were last asked: what they were asked may have been done. */
  readonly #silent = new Set<number>();

  constructor(engine: Engine, request: TakeRequest) {
    this.#engine = engine;
    this.#request = request;
  }

  /** Asks each partition in turn, until there are as many tasks as asked for. @throws PaihaoError when none can be asked */
  async look(): Promise<Look> {
    const given: Share[] = [];
    let generation = 0;
    let wanted = this.#request.count;
    let [pauseMs, failure]: [number, unknown] = [0, undefined];
    for (const partition of orderOf(this.#engine.keys, this.#request)) {
      // Beyond that a request that was sent before may have been given something too.
      if (wanted === 0 && !given.some(({ replayed }) => replayed)) break;
      try {
        const { tasks, part, pauseMs: pause } = await this.#ask(partition, wanted, generation);
        if (!part) throw new PaihaoError("internal", "the store's answer lacks the request");
        given.push({ ...part, partition, tasks });
        generation ||= part.generation;
        wanted = Math.max(0, wanted - part.given);
        pauseMs = Math.max(pauseMs, pause);
        this.#silent.delete(partition);
      } catch (error) {
        if (!isAway(error)) throw error;
        failure = error;
        this.#silent.add(partition);
      }
    }
    this.#generation = Math.max(this.#generation, generation);
    if (given.length === 0) throw failure;
    const kept = this.#withoutSurplus(given);
    const empty = kept.every((part) => part.given === 0);
    if (empty) this.#after = Math.max(this.#after, generation);
    return {
      tasks: kept.flatMap(({ tasks }) => tasks),
      pauseMs,
      again: empty && given.some(({ replayed }) => replayed),
    };
  }

  /** Where a partition was away when the request was first sent, it has given now what others had given then. */
  #withoutSurplus(given: readonly Share[]): readonly Share[] {
    const total = given.reduce((sum, part) => sum + part.given, 0);
    if (total <= this.#request.count) return given;
    for (const part of given) if (!part.replayed && part.given > 0) void this.#close(part.partition);
    return given.filter(({ replayed }) => replayed);
  }

  #ask(partition: number, count: number, generation: number) {
    const { rate } = this.#engine.settings(this.#request.queue);
    const asked = { holder: this.#holder, generation, after: this.#after };
    return this.#engine.reserve(partition, { ...this.#request, count, rate, asked });
  }

  /** Hands back what all partitions gave. */
  async handBack(): Promise<void> {
    await Promise.all(this.#engine.keys.tags.map((_, partition) => this.#close(partition)));
  }

  /** Hands back what partitions may have given that did not answer: nobody is told of it. */
  closeSilent(): void {
    for (const partition of this.#silent) void this.#close(partition);
  }

  /** Hands back what a partition gave; where it is away, that is tried again in the background. */
  async #close(partition: number): Promise<void> {
    if (await this.#unreserve(partition)) return;
    const untilMs = Date.now() + Math.min(this.#request.leaseMs, CLOSING_MS);
    const retry = async () => {
      for (let pauseMs: number = RETRY.firstMs; Date.now() < untilMs; pauseMs = Math.min(pauseMs * 2, RETRY.mostMs)) {
        await sleep(pauseMs, undefined, { ref: false });
        if (await this.#unreserve(partition)) return;
      }
    };
    void retry();
  }

  /** Whether there is nothing left to do; never rejects. */
  async #unreserve(partition: number): Promise<boolean> {
    const { rate } = this.#engine.settings(this.#request.queue);
    const by = { holder: this.#holder, generation: this.#generation };
    try {
      await this.#engine.unreserve(partition, { ...this.#request, rate }, by);
      return true;
    } catch (error) {
      return !isAway(error);
    }
  }
}

const isAway = (error: unknown): boolean => error instanceof PaihaoError && error.code === "store-unavailable";

/** The order in which a request asks the partitions: the same whenever it is sent, another for another request. */
function orderOf(keys: Keys, { worker, reservation }: TakeRequest): number[] {
  const first = keys.partitionOf(`${worker} ${reservation}`);
  return Array.from({ length: keys.partitions }, (_, i) => (first + i) % keys.partitions);
}
