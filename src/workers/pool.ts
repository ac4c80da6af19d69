import type { QueueSettings } from "../engine/settings.ts";
import type { AbortCause } from "../engine/tasks/attempt-end.ts";
import type { Handler } from "../handler/define.ts";
import { MOST_OF_A_BATCH } from "../handler/options.ts";
import type { Role } from "../loop.ts";
import { SHARED } from "../store/constants.ts";
import type { ReservedTask } from "../store/line/reserve.ts";
import type { Standby } from "../store/line/standby.ts";
import { Ahead } from "./ahead.ts";
import type { Attempt } from "./attempt/attempt.ts";
import { BatchCalls } from "./batch-calls.ts";
import { HandBacks } from "./hand-back.ts";
import type { Runner, WorkerParts } from "./runner.ts";
import { Slots } from "./slots.ts";
import { Taker } from "./taker.ts";

/** Requests for tasks that are underway at once: the store works on one while the tasks of the other run. See line/reservation.lua. */
const LANES = 2;

/** How many tasks that are to stop are remembered, and for how long, ms: longer than an answer is on its way. */
const STOPPING = { max: 1000, ms: 5000 } as const;

/** One queue in one worker process: reserves as many tasks as it has free slots, and runs them. */
export class Pool implements Role {
  readonly queue: string;
  readonly #parts: WorkerParts;
  readonly #runner: Runner;
  readonly #onAdjusted: () => void;
  readonly #slots: Slots;
  /** The slots that its handler declares. */
  readonly #declared: number;
  readonly #ahead: Ahead;
  /** Undefined if each task has a slot. */
  readonly #calls: BatchCalls | undefined;
  readonly #handBacks: HandBacks;
  readonly #takers: readonly Taker[];
  /** How many tasks were left after the last reply. */
  readonly #line = { waiting: 0 };
  /** Tasks that are to stop and are not here: the answer that brings one may be on its way. */
  readonly #stopping = new Set<string>();
  #started = false;
  #stopped = false;
  #unlisten: (() => void)[] = [];
  #standby: Standby | undefined;

  /** @param onAdjusted called when an operator has changed what holds this queue */
  constructor(
    worker: string,
    handler: Handler,
    settings: QueueSettings,
    runner: Runner,
    parts: WorkerParts,
    onAdjusted: () => void,
  ) {
    const { engine, executors } = parts;
    const log = parts.log.child({ queue: handler.queue });
    this.queue = handler.queue;
    this.#onAdjusted = onAdjusted;
    this.#declared = settings.concurrency;
    this.#parts = parts;
    this.#runner = runner;
    this.#handBacks = new HandBacks(engine, settings, log);
    const perSlot = settings.batch?.max ?? 1;
    const onRoom = () => {
      this.#ahead.fill();
      this.#wake();
    };
    const onFreed = (tookMs: number) => {
      this.#ahead.note(tookMs);
      onRoom();
    };
    const more = settings.batch && (() => this.#calls?.room ?? 0);
    const ahead = () => this.#ahead.room;
    this.#slots = new Slots({ count: this.#declared, perSlot, log, more, ahead, onFreed, onRoom });
    const handBack = (task: ReservedTask) => this.#handBacks.now(task);
    this.#ahead = new Ahead({
      ...{ slots: this.#slots, allowed: mayTakeAhead(settings), handBack },
      run: (task, slot, takenAt) => runner.run(task, slot, takenAt),
      onRoom,
    });
    const execute = (attempts: readonly Attempt[]) => {
      engine.metrics.batches.observe(attempts.length, this.queue);
      return executors.executeBatch(attempts, handler);
    };
    this.#calls = settings.batch && new BatchCalls(settings.batch, () => this.#slots.takeIfFree(), execute);
    const lanes = settings.batch ? 1 : LANES;
    const max = () =>
      settings.batch
        ? Math.min(this.#slots.count * perSlot, MOST_OF_A_BATCH)
        : Math.ceil((this.#slots.count + this.#ahead.room) / lanes);
    const common = { worker, engine, settings, slots: this.#slots, line: this.#line, log };
    const acts = {
      run: (task: ReservedTask, takenAt: number, ahead: boolean) => this.#run(task, takenAt, ahead),
      handBack: (task: ReservedTask) => void handBack(task),
    };
    this.#takers = Array.from({ length: lanes }, (_, lane) => {
      // The first lane requests any number of tasks if slots have none, the others only enough for a full request.
      const min = lane === 0 ? () => Math.max(1, Math.floor(this.#ahead.room / lanes)) : max;
      return new Taker({ ...common, ...acts, lane, min, max, ahead: () => this.#ahead.room > 0 });
    });
  }

  /** How many calls of the handler run at once. */
  get slots(): number {
    return this.#slots.count;
  }

  /** Changes that, with running tasks going on; undefined: as its handler declares it. Returns whether it was another number. */
  resize(slots = this.#declared): boolean {
    if (slots === this.slots) return false;
    this.#slots.count = slots;
    // A request that waits in the store was for the slots of before.
    for (const taker of this.#takers) taker.notice(false);
    return true;
  }

  async start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    const { engine } = this.#parts;
    const { keys, pubsub } = engine;
    const channel = keys.workChannel(keys.partitionOfQueue(this.queue), this.queue);
    const listening = pubsub.listen(channel, (message) => this.#notice(message));
    [this.#standby, ...this.#unlisten] = await Promise.all([engine.leases.openStandby(this.queue), listening]);
    const { upkeep } = engine;
    this.#unlisten.push(upkeep.onNews(this.queue, (news) => (news === "work" ? this.#found() : this.#expect())));
    // It may have been stopped meanwhile.
    if (this.#stopped) this.#close();
    else for (const [lane, taker] of this.#takers.entries()) taker.start(lane === 0 ? this.#standby : undefined);
  }

  /** Takes no more work; running tasks continue. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deafen();
    await Promise.all(this.#takers.map((taker) => taker.stop()));
    await this.#ahead.giveUp();
    this.#calls?.stop();
    this.#close();
  }

  #close(): void {
    this.#deafen();
    this.#standby?.close();
  }

  #deafen(): void {
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
  }

  #notice(bytes: Buffer | null): void {
    const [word, id] = bytes?.toString().split(" ") ?? [];
    if (id !== undefined && word === "cancel") this.#stop("canceled", id);
    else if (id !== undefined && (word === "deadline" || word === "abandoned")) this.#stop(word, id);
    else {
      if (word === SHARED.adjusted) this.#onAdjusted();
      for (const taker of this.#takers) taker.notice(word === SHARED.passedOn);
    }
  }

  /** A task is to stop, which may be another worker's. */
  #stop(cause: AbortCause, id: string): void {
    if (this.#parts.renewer.abort(cause, id) || this.#ahead.drop(id)) return;
    if (this.#stopping.size === 0) setTimeout(() => this.#stopping.clear(), STOPPING.ms).unref();
    if (this.#stopping.size < STOPPING.max) this.#stopping.add(id);
  }

  /** Tasks wait: if the line seemed empty, a message was lost. */
  #found(): void {
    if (this.#line.waiting === 0) this.#wake();
  }

  /** A worker has probably died, here or elsewhere: its tasks will be suspects, some of which may come here. */
  #expect(): void {
    if (this.slots > 0) this.#parts.executors.expectSuspect(this.queue);
  }

  #wake(): void {
    for (const taker of this.#takers) taker.wake();
  }

  #run(task: ReservedTask, takenAt: number, ahead: boolean): void {
    if (this.#stopping.has(task.id)) return void this.#handBacks.now(task);
    const isSuspect = task.lost > 0;
    const admitted = !isSuspect || this.#parts.executors.admitsSuspect(this.queue);
    // A task whose begin is reported has a slot, and so a call, of its own.
    const shared = isSuspect || task.unbegun ? undefined : this.#calls;
    const slot = admitted ? (shared ? shared.join(task.stoodMs) : this.#slots.takeIfFree(takenAt)) : undefined;
    if (slot) this.#runner.run(task, slot, takenAt);
    // Its slot may have been given to one that another lane took ahead; the store would count its loss if it waited here.
    else if (ahead && admitted && this.#ahead.add(task, takenAt)) return;
    else if (!isSuspect) void this.#handBacks.now(task);
    else {
      this.#handBacks.later(task);
      this.#wake();
    }
  }
}

/**
 * Whether tasks are taken ahead: not where more than slots decides which tasks run, nor where no task may run again after its worker was lost,
 * since nobody knows whether one that was taken ahead had begun.
 */
const mayTakeAhead = ({ batch, rate, gated, maxLost }: QueueSettings): boolean =>
  !(batch || rate || gated) && maxLost > 0;
