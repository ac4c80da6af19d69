import type { HandlerEnd } from "../engine/attempt/attempt-end.ts";
import type { SlotBatch } from "../store/verbs/scripts.ts";
import type { Attempt } from "./attempt/attempt.ts";
import { BatchCall } from "./batch-call.ts";
import { CallTimes } from "./call-times.ts";
import type { Place } from "./place.ts";

/** The dependencies of {@link BatchCalls}. */
export interface BatchCallsParts {
  readonly batch: SlotBatch;
  /** Takes a slot if one is free. */
  takeSlot(): Place | undefined;
  /** Runs the handler; returns the end of each task. */
  execute(attempts: readonly Attempt[]): Promise<HandlerEnd>[];
  /** Whether tasks probably wait in the line. */
  hasWork(): boolean;
  /** Called when more tasks can be requested. */
  onRoom(): void;
  /** For tests; default: as measured. */
  readonly times?: Pick<CallTimes, "add" | "earlyFill">;
}

/**
 * The calls of a handler with `batch` in one process: which of them tasks join. If calls are short, the next one is filled shortly before
 * the running one ends (call-times.ts); it begins when a slot becomes free. With calls of 20 ms that is 3 to 6 % more tasks a second:
 * `npm run bench -- batch`.
 */
export class BatchCalls {
  readonly #parts: BatchCallsParts;
  readonly #times: Pick<CallTimes, "add" | "earlyFill">;
  /** The call that tasks may join, or the last one. */
  #gathering: BatchCall | undefined;
  /** Calls that wait for a slot. */
  readonly #waiting: BatchCall[] = [];
  /** How many running calls will probably end soon. */
  #ending = 0;

  constructor(parts: BatchCallsParts) {
    this.#parts = parts;
    this.#times = parts.times ?? new CallTimes();
  }

  /** For how many tasks there is room, in addition to those for free slots. */
  get room(): number {
    return this.#roomOfCall + this.#early * this.#parts.batch.max;
  }

  get #roomOfCall(): number {
    return this.#gathering?.room ?? 0;
  }

  /** How many calls may be filled before there is a slot for them. */
  get #early(): number {
    return Math.max(0, this.#ending - this.#waiting.length);
  }

  /** Seats another task; undefined if there is no slot for it. */
  join(): Place | undefined {
    if (this.#gathering && this.#roomOfCall > 0) return this.#gathering.join();
    const call = this.#open(this.#parts.batch);
    if (call) this.#gathering = call;
    return call?.join();
  }

  /** Seats a task in a call of its own; undefined if there is no slot for it. */
  alone(): Place | undefined {
    return this.#open({ max: 1, waitMs: 0 })?.join();
  }

  #open(batch: SlotBatch): BatchCall | undefined {
    const slot = this.#parts.takeSlot();
    if (!slot && this.#early === 0) return undefined;
    const call = this.#newCall(batch, slot);
    if (!slot) this.#waiting.push(call);
    return call;
  }

  /** A slot may have become free. */
  slotFreed(): void {
    while (this.#waiting.length > 0) {
      const slot = this.#parts.takeSlot();
      if (!slot) return;
      this.#waiting.shift()?.begin(slot);
    }
  }

  /** No more tasks join. A call that has a slot begins; the tasks of the others return to their places. */
  stop(): void {
    for (const call of this.#waiting.splice(0)) call.handBack();
    this.#gathering?.close();
  }

  #newCall(batch: SlotBatch, slot: Place | undefined): BatchCall {
    let noteEnd = () => {};
    const execute = (attempts: readonly Attempt[]) => {
      noteEnd = this.#expectEnd();
      return this.#parts.execute(attempts);
    };
    const onEnded = (ranMs: number) => {
      noteEnd();
      this.#times.add(ranMs);
    };
    return new BatchCall({ ...batch, execute, onEnded }, slot);
  }

  /** A call begins. Returns what to do when it has ended. */
  #expectEnd(): () => void {
    const early = this.#times.earlyFill;
    if (!early) return () => {};
    let counted = false;
    const giveUp = () => {
      this.#ending -= 1;
      counted = false;
      if (this.#waiting.length > this.#ending) this.#waiting.pop()?.handBack();
    };
    const ask = () => {
      if (!this.#parts.hasWork()) return;
      this.#ending += 1;
      counted = true;
      timer = setTimeout(giveUp, early.giveUpAfterMs - early.askAfterMs);
      this.#parts.onRoom();
    };
    let timer = setTimeout(ask, early.askAfterMs);
    return () => {
      clearTimeout(timer);
      if (counted) this.#ending -= 1;
    };
  }
}
