import { setTimeout as delay } from "node:timers/promises";
import type { World } from "./world.ts";

/** How hard the servers are worked. */
export interface LoadOptions {
  /** Clients that submit, one task after the other. */
  readonly clients: number;
  /** Pause of each between two tasks, ms. */
  readonly pauseMs: number;
  /** How long a task takes, ms. */
  readonly workMs: number;
}

/** Pause of a client before it submits again what was refused, ms. */
const RETRY_MS = 100;
/** A client gives up on an answer after this, ms; the server promises one within 5 s. */
const PATIENCE_MS = 10_000;

let loads = 0;

/** Clients that submit tasks under ids of their own, again under the same id until they are accepted, and keep the books. */
export class Load {
  /** Of whom it was said that they are accepted. */
  readonly accepted = new Set<string>();
  /** Refusals by their code; "lost" where there was no answer at all. */
  readonly refused = new Map<string, number>();
  /** The longest that a client had to wait for any answer, ms. */
  slowestMs = 0;
  readonly #world: World;
  readonly #options: LoadOptions;
  readonly #name: string;
  #clients: Promise<void>[] = [];
  #submitting = false;
  #next = 0;

  constructor(world: World, options: LoadOptions) {
    loads += 1;
    this.#world = world;
    this.#options = options;
    this.#name = `load${loads}`;
  }

  start(): void {
    this.#submitting = true;
    // A client rejects when its world ends under it: then nobody minds.
    this.#clients = Array.from({ length: this.#options.clients }, () => this.#client().catch(() => undefined));
  }

  /** Resolves when what is under way has been answered. What was refused last may be stored all the same. */
  async stop(): Promise<void> {
    this.#submitting = false;
    await Promise.all(this.#clients);
  }

  /** Resolves when so many more have been accepted. */
  async more(count: number): Promise<void> {
    const goal = this.accepted.size + count;
    while (this.accepted.size < goal) await this.#pause(10);
  }

  /** Holds the clients back while something is done; what they are at is answered before. */
  async pauseWhile(act: () => Promise<unknown>): Promise<void> {
    await this.stop();
    await act();
    this.start();
  }

  /** What has been accepted so far is lost by the operator's own doing. */
  writeOff(): number {
    const { size } = this.accepted;
    this.accepted.clear();
    return size;
  }

  /** Submits one task, once; returns what was answered: "accepted", the problem's code, or "lost". */
  async submit(id: string, queue: string, body: object): Promise<string> {
    const begun = performance.now();
    try {
      const answer = await fetch(`${this.#world.api.url}/v1/queues/${queue}/requests`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Prefer: "respond-async", "X-Request-Id": id },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const text = await answer.text();
      // Of a task that has finished meanwhile the answer is its result.
      if (answer.status === 202 || answer.status === 200) return "accepted";
      return String((JSON.parse(text) as { type?: string }).type).replace("/problems/", "");
    } catch {
      // The process, or its connection, is gone.
      return "lost";
    } finally {
      this.slowestMs = Math.max(this.slowestMs, performance.now() - begun);
    }
  }

  /** Submits a task and is held until it is done; returns the status of the answer. */
  async hold(id: string): Promise<number> {
    const answer = await fetch(`${this.#world.api.url}/v1/queues/work/requests`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Request-Id": id },
      body: JSON.stringify({ ms: this.#options.workMs }),
    });
    return answer.status;
  }

  #pause(ms: number): Promise<unknown> {
    return delay(ms, undefined, { signal: this.#world.ending });
  }

  async #client(): Promise<void> {
    while (this.#submitting) {
      this.#next += 1;
      const id = `${this.#name}-${this.#next}`;
      for (let verdict = ""; verdict !== "accepted" && this.#submitting; ) {
        verdict = await this.submit(id, "work", { ms: this.#options.workMs });
        if (verdict === "accepted") this.accepted.add(id);
        else {
          this.refused.set(verdict, (this.refused.get(verdict) ?? 0) + 1);
          await this.#pause(RETRY_MS);
        }
      }
      await this.#pause(this.#options.pauseMs);
    }
  }
}
