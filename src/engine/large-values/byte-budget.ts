import { PaihaoError } from "../../errors.ts";

/** A caller waiting for room. */
interface Waiter {
  readonly bytes: number;
  go(): void;
}

/**
 * Limits the bytes in flight. Callers wait first come, first served, so that small values cannot overtake a large one forever.
 * A value larger than the whole budget goes alone.
 */
export class ByteBudget {
  readonly #most: number;
  readonly #line: Waiter[] = [];
  #inFlight = 0;

  /** @param mostBytes limit of the bytes in flight */
  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  /**
   * Runs work that needs this many bytes once there is room.
   * @param patienceMs how long to wait for room
   * @throws PaihaoError store-unavailable if there was no room in that time; what the work throws
   */
  async spend<T>(bytes: number, patienceMs: number, work: () => Promise<T>): Promise<T> {
    const taken = Math.min(bytes, this.#most);
    if (this.#line.length > 0 || this.#inFlight + taken > this.#most) await this.#wait(taken, patienceMs);
    else this.#inFlight += taken;
    try {
      return await work();
    } finally {
      this.#inFlight -= taken;
      this.#admit();
    }
  }

  #wait(bytes: number, patienceMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiter = {
        bytes,
        go: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#line.splice(this.#line.indexOf(waiting), 1);
        reject(new PaihaoError("store-unavailable", "Too many large values are being read; try again."));
        this.#admit();
      }, patienceMs);
      this.#line.push(waiting);
    });
  }

  #admit(): void {
    for (let next = this.#line[0]; next && this.#inFlight + next.bytes <= this.#most; next = this.#line[0]) {
      this.#line.shift();
      this.#inFlight += next.bytes;
      next.go();
    }
  }
}
