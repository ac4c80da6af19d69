import { varied } from "./backoff.ts";

/**
 * The interface of every recurring role. Both calls are idempotent; `stop` is safe before `start` and resolves once all work
 * has ended.
 */
export interface Role {
  start(): Promise<void> | void;
  stop(): Promise<void>;
}

/** What a {@link Loop} does, and how often. */
export interface LoopOptions {
  /** One turn. Returns the milliseconds until the next turn if it should come earlier than usual. Must not await `stop`. */
  tick(): Promise<number | undefined>;
  /** The usual time between two turns, in milliseconds, ± 20 % so that processes do not run in step. */
  intervalMs: number;
  /** Called if a turn throws; the loop continues. */
  onError(error: unknown): void;
}

/** Runs one turn after the other, never two at once; `wake` starts the next one immediately, `wakeIn` in a while. */
export class Loop implements Role {
  readonly #options: LoopOptions;
  #running = false;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires, and when the next turn is due, which may be later; monotonic ms. */
  #firesAt = 0;
  #dueAt = 0;
  #turn: Promise<void> | undefined;
  #awake = false;
  /** When the turn after the running one is wanted at latest, monotonic ms. */
  #wantedBy = Number.POSITIVE_INFINITY;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    // A turn from before the last stop is still running: its end starts the next one.
    this.#awake = this.#turn !== undefined;
    if (!this.#awake) this.#go();
  }

  async stop(): Promise<void> {
    this.#running = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#turn;
  }

  /** Starts the next turn now, or directly after the one that is running. */
  wake(): void {
    if (!this.#running) return;
    if (this.#turn !== undefined) {
      this.#awake = true;
      return;
    }
    this.#go();
  }

  /** Starts the next turn in so many milliseconds, unless it comes sooner. */
  wakeIn(delayMs: number): void {
    if (!this.#running) return;
    const atMs = performance.now() + delayMs;
    // The running turn may have looked already.
    if (this.#turn !== undefined) this.#wantedBy = Math.min(this.#wantedBy, atMs);
    else if (atMs < this.#dueAt) this.#wait(delayMs);
  }

  #go(): void {
    this.#wantedBy = Number.POSITIVE_INFINITY;
    this.#turn = this.#once();
  }

  async #once(): Promise<void> {
    // The tick must not begin before #turn is set: otherwise a wake from inside it would start a second turn.
    await undefined;
    const usual = varied(this.#options.intervalMs);
    let delayMs = usual;
    if (this.#running) {
      try {
        delayMs = Math.min((await this.#options.tick()) ?? usual, usual);
      } catch (error) {
        this.#options.onError(error);
      }
    }
    this.#turn = undefined;
    if (!this.#running) return;
    if (this.#awake) {
      this.#awake = false;
      this.#go();
    } else this.#wait(Math.max(0, Math.min(delayMs, this.#wantedBy - performance.now())));
  }

  /** Keeps a timer that fires no later: a busy loop is woken for every turn, and a new timer each time costs more than the turn. */
  #wait(delayMs: number): void {
    this.#dueAt = performance.now() + delayMs;
    if (this.#timer !== undefined && this.#firesAt <= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#firesAt = this.#dueAt;
    this.#timer = setTimeout(() => this.#onTimer(), delayMs);
  }

  #onTimer(): void {
    this.#timer = undefined;
    // The end of a running turn sets the next one.
    if (this.#turn !== undefined) return;
    const leftMs = this.#dueAt - performance.now();
    if (leftMs >= 1) this.#wait(leftMs);
    else this.#go();
  }
}
