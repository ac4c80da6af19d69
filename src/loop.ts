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

/** Runs one turn after the other, never two at once; `wake` starts the next one immediately. */
export class Loop implements Role {
  readonly #options: LoopOptions;
  #running = false;
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> | undefined;
  #awake = false;

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
    clearTimeout(this.#timer);
    this.#go();
  }

  #go(): void {
    this.#timer = undefined;
    this.#turn = this.#once().then((delayMs) => {
      this.#turn = undefined;
      if (!this.#running) return;
      if (this.#awake) {
        this.#awake = false;
        this.#go();
      } else {
        this.#timer = setTimeout(() => this.#go(), delayMs);
      }
    });
  }

  async #once(): Promise<number> {
    // The tick must not begin before #turn is set: otherwise a wake from inside it would start a second turn.
    await undefined;
    const usual = this.#options.intervalMs * (0.8 + 0.4 * Math.random());
    if (!this.#running) return usual;
    try {
      return Math.min((await this.#options.tick()) ?? usual, usual);
    } catch (error) {
      this.#options.onError(error);
      return usual;
    }
  }
}
