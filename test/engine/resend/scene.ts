import { encodeResult } from "../../../src/store/result.ts";
import type { Lease } from "../../../src/store/verbs/lease.ts";
import type { Scripts } from "../../../src/store/verbs/scripts.ts";
import type { TickQueue } from "../../../src/store/verbs/tick.ts";
import type { TestEngine } from "../../helpers/engine.ts";

export const KEEP = { keepMs: 60_000, tombstoneMs: 60_000 };
export const CAP = 10;
export const answer = encodeResult({ status: 200, contentType: "text/plain", headers: {}, body: Buffer.from("ok") });
export const REQUEST = { queue: "jobs", worker: "w1", reservation: "r", count: 1, leaseMs: 60_000, rate: undefined };
export const LONG = `"${"x".repeat(500)}"`;

export const ROOM = { max: 10, bytes: 1000 };

/** A store in some state, before the call that is to be sent twice. */
export class Scene {
  readonly t: TestEngine;
  readonly tag: string;
  lease: Lease = { queue: "jobs", id: "a", fence: "0" };

  constructor(t: TestEngine) {
    this.t = t;
    this.tag = t.keys.tag(0);
  }

  get scripts(): Scripts {
    return this.t.scripts;
  }

  get tickQueue(): TickQueue {
    return { queue: "jobs", maxLost: 1, deadMs: 60_000, problem: answer, ...KEEP };
  }

  async waiting(options: { input?: string; delayMs?: number; webhook?: string } = {}): Promise<void> {
    for (const id of ["a", "b"]) await this.t.submit({ id, ...options });
  }

  async running(options: { input?: string; webhook?: string } = {}): Promise<void> {
    await this.waiting(options);
    const [task] = await this.t.reserve(1, { reservation: "first" });
    if (!task) throw new Error("nothing to take");
    this.lease = { queue: "jobs", id: task.id, fence: task.fence };
  }

  /** A task that has lost a worker, taken by one that says when its handler begins. */
  async suspect(): Promise<void> {
    await this.running();
    await this.scripts.lose(this.tag, [{ ...this.lease, ...this.tickQueue }], CAP);
    const request = { queue: "jobs", worker: "w1", reservation: "second", count: 1, leaseMs: 60_000, rate: undefined };
    const { tasks } = await this.scripts.reserve(this.tag, { ...request, suspectLeaseMs: 60_000 });
    this.lease = { queue: "jobs", id: "a", fence: tasks[0]?.fence ?? "" };
  }

  async dead(): Promise<void> {
    await this.running({ input: LONG });
    await this.scripts.step(this.tag, { ...this.lease, verb: "keep", name: "s", value: "1", undo: true, ...ROOM });
    await this.fail("retry", 1);
  }

  fail(kind: "retry" | "later" | "give-up", attempts: number) {
    const item = { ...this.lease, ...KEEP, kind, attempts, delayMs: 1000, error: "boom", code: "task-failed" };
    return this.scripts.fail(this.tag, [{ ...item, ordered: true, result: answer, deadMs: 60_000 }], CAP);
  }

  tick() {
    return this.scripts.tick(this.tag, [this.tickQueue], { limit: 50, deadCap: CAP });
  }
}
