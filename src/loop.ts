/** The shape of every recurring role: both calls are idempotent, `stop` is safe before `start` and resolves when all is done. */
export interface Role {
  start(): Promise<void> | void;
  stop(): Promise<void>;
}

/** How a {@link Loop} turns. */
export interface LoopOptions {
  /** One turn; returns the milliseconds until the next where that is sooner than usual, or nothing. Must not await `stop`. */
  tick(): Promise<number | undefined>;
  /** The usual time between two turns, in milliseconds; each is drawn from ±20 % so that processes do not march in step. */
  intervalMs: number;
  /** Told of a turn that threw; the loop goes on. */
  onError(error: unknown): void;
}

/** Runs one turn after the other, never two at once; `wake` makes the next one come at once. */
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
    // A turn that began before the last stop is still under way: it goes on alone, and its end starts the next one.
    this.#awake = this.#turn !== undefined;
    if (!this.#awake) this.#go();
  }

  async stop(): Promise<void> {
    this.#running = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#turn;
  }

  /** Makes the next turn come now, or directly after the one that is under way. */
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
    // The tick begins only when #turn is set: a wake from within it must not start a second turn.
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
