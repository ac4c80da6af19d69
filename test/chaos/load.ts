import { setTimeout as delay } from "node:timers/promises";
import type { Fork } from "./history/history.ts";
import { monotonicMs, Recorder, type Subject } from "./history/recorder.ts";
import type { World } from "./world.ts";

/** The load on the servers. */
export interface LoadOptions {
  /** Clients that submit, one task after the other. */
  readonly clients: number;
  /** Pause of each between two tasks, ms. */
  readonly pauseMs: number;
  /** How long a task takes, ms. */
  readonly workMs: number;
}

/** Pause of a client before it submits a refused task again, ms. */
const RETRY_MS = 100;
/** One of this many tasks has a key, and there are this many keys. */
const KEYED_IN = 8;
const KEYS = 8;

let loads = 0;

/** Clients that submit tasks under ids of their own, repeat each until it is accepted, and record the answers. */
export class Load {
  /** The ids of tasks that were reported as accepted. */
  readonly accepted = new Set<string>();
  /** Refusals by code; "lost" if there was no answer. */
  readonly refused = new Map<string, number>();
  /** The longest that a client had to wait for any answer, ms. */
  slowestMs = 0;
  /** All calls and their answers. */
  readonly recorder: Recorder;
  readonly #world: World;
  readonly #options: LoadOptions;
  readonly #name: string;
  #clients: Promise<void>[] = [];
  #submitting = false;
  #next = 0;
  #writtenOffAt = 0;

  constructor(world: World, options: LoadOptions) {
    loads += 1;
    this.recorder = new Recorder(() => world.api.url);
    this.#world = world;
    this.#options = options;
    this.#name = `load${loads}`;
  }

  start(): void {
    this.#submitting = true;
    // A client rejects if the world ends while it works, which is no failure.
    this.#clients = Array.from({ length: this.#options.clients }, () => this.#client().catch(() => undefined));
  }

  /** Resolves when all calls in flight are answered. Submissions refused last may have been stored nevertheless. */
  async stop(): Promise<void> {
    this.#submitting = false;
    await Promise.all(this.#clients);
  }

  /** Resolves when this many more have been accepted. */
  async more(count: number): Promise<void> {
    const goal = this.accepted.size + count;
    while (this.accepted.size < goal) await this.#pause(10);
  }

  /** Pauses the clients while something is done, after their calls in flight are answered. */
  async pauseWhile(act: () => Promise<unknown>): Promise<void> {
    await this.stop();
    await act();
    this.start();
  }

  /** The store has gone on with an older state, which may lack everything accepted so far. */
  writeOff(): void {
    this.fork("nothing");
    this.#writtenOffAt = monotonicMs();
    this.accepted.clear();
  }

  /** The store has gone on with an older state. */
  fork(kept: Fork["kept"]): void {
    this.recorder.fork(kept);
  }

  /** Submits a task once; returns "accepted", the code of the problem, or "lost". */
  async submit(id: string, queue: string, body: object): Promise<string> {
    return (await this.#submit({ id, queue }, body)).verdict;
  }

  /** Submits a task synchronously; returns the status of the answer. */
  async hold(id: string): Promise<number> {
    const { answer } = await this.recorder.submit({ id, queue: "work" }, { ms: this.#options.workMs }, { wait: true });
    return Number.parseInt(answer, 10);
  }

  async #submit(subject: Subject, body: object): Promise<{ verdict: string; invokedAt: number }> {
    const call = await this.recorder.submit(subject, body, { wait: false });
    const { answer, told, invokedAt, returnedAt } = call;
    this.slowestMs = Math.max(this.slowestMs, returnedAt - invokedAt);
    // If the task has finished meanwhile, the answer is its result.
    const isAccepted = told === "pending" || told === "succeeded";
    return { verdict: isAccepted ? "accepted" : (answer.split(" ")[1] ?? answer), invokedAt };
  }

  #pause(ms: number): Promise<unknown> {
    return delay(ms, undefined, { signal: this.#world.ending });
  }

  async #client(): Promise<void> {
    while (this.#submitting) {
      this.#next += 1;
      const subject = this.#subject(this.#next);
      const body = { ms: this.#options.workMs, key: subject.key };
      for (let isAccepted = false; !isAccepted && this.#submitting; ) {
        const { verdict, invokedAt } = await this.#submit(subject, body);
        isAccepted = verdict === "accepted" && invokedAt > this.#writtenOffAt;
        if (isAccepted) this.accepted.add(subject.id);
        else {
          this.refused.set(verdict, (this.refused.get(verdict) ?? 0) + 1);
          await this.#pause(RETRY_MS);
        }
      }
      await this.recorder.ask(this.#next % 2 === 0 ? "status" : "collect", subject);
      await this.#pause(this.#options.pauseMs);
    }
  }

  #subject(n: number): Subject {
    const id = `${this.#name}-${n}`;
    return n % KEYED_IN === 0 ? { id, queue: "keyed", key: `k${(n / KEYED_IN) % KEYS}` } : { id, queue: "work" };
  }
}
