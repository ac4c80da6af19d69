import type { HandlerEnd } from "../engine/attempt/attempt-end.ts";
import type { SlotBatch } from "../store/verbs/snapshot.ts";
import type { Attempt } from "./attempt/attempt.ts";
import { BatchCall } from "./batch-call.ts";
import type { Place } from "./place.ts";

/** The dependencies of {@link BatchCalls}. */
export interface BatchCallsParts {
  readonly batch: SlotBatch;
  /** Takes a slot if one is free. */
  takeSlot(): Place | undefined;
  /** Runs the handler; returns the end of each task. */
  execute(attempts: readonly Attempt[]): Promise<HandlerEnd>[];
}

/** The calls of a handler with `batch` in one process: which of them tasks join. */
export class BatchCalls {
  readonly #parts: BatchCallsParts;
  /** The call that tasks may join, or the last one. */
  #gathering: BatchCall | undefined;

  constructor(parts: BatchCallsParts) {
    this.#parts = parts;
  }

  /** For how many tasks there is room, in addition to those for free slots. */
  get room(): number {
    return this.#gathering?.room ?? 0;
  }

  /** Seats another task, which has been in line for so long; undefined if there is no slot for it. */
  join(stoodMs: number): Place | undefined {
    if (this.room === 0) this.#gathering = this.#open() ?? this.#gathering;
    return this.room > 0 ? this.#gathering?.join(stoodMs) : undefined;
  }

  #open(): BatchCall | undefined {
    const { batch, execute, takeSlot } = this.#parts;
    const slot = takeSlot();
    return slot && new BatchCall({ ...batch, execute }, slot);
  }

  /** No more tasks join: the call that gathers begins. */
  stop(): void {
    this.#gathering?.close();
  }
}
