import { setTimeout as delay } from "node:timers/promises";
import { heard } from "./answer.ts";
import type { Call, Fork, HistoryEntry } from "./history.ts";

/** How long a client waits for an answer, ms; the server promises one within 5 s. */
const PATIENCE_MS = 10_000;
/** Pause before a call without a clear answer is repeated, ms. */
const RETRY_MS = 200;
/** How many tasks are read at once at the end. */
const AT_ONCE = 8;

/** The task of a call. */
export interface Subject {
  readonly id: string;
  readonly queue: string;
  readonly key?: string;
}

/** Milliseconds of the monotonic clock that all processes of this machine share. No fault changes it. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Makes calls and records the answers. */
export class Recorder {
  /** Calls in the order in which they returned. */
  readonly entries: HistoryEntry[] = [];
  readonly #subjects = new Map<string, Subject>();
  readonly #url: () => string;

  /** @param url of the server that is called now */
  constructor(url: () => string) {
    this.#url = url;
  }

  /**
   * Submits a task.
   * @param wait for its end, however long it takes
   */
  submit(subject: Subject, body: object, { wait }: { wait: boolean }): Promise<Call> {
    this.#subjects.set(subject.id, subject);
    const prefer: Record<string, string> = wait ? {} : { Prefer: "respond-async" };
    return this.#call("submit", subject, `/v1/queues/${subject.queue}/requests`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Request-Id": subject.id, ...prefer },
      body: JSON.stringify(body),
      signal: wait ? null : AbortSignal.timeout(PATIENCE_MS),
    });
  }

  /** Reads a task. */
  ask(kind: "status" | "collect" | "timeline", subject: Subject): Promise<Call> {
    const path = kind === "collect" ? "" : `/${kind}`;
    return this.#call(kind, subject, `/v1/requests/${subject.id}${path}`, {});
  }

  /** Reads everything about every task, until the answers are clear. */
  async askAtTheEnd(): Promise<void> {
    const subjects = this.#subjects.values();
    const askAll = async () => {
      // They share the iterator, so that each task is read by one of them.
      for (const subject of subjects) {
        for (const kind of ["timeline", "collect"] as const) {
          while ((await this.ask(kind, subject)).outcome !== "ok") await delay(RETRY_MS);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, askAll));
  }

  /** From now on the store has an older state. */
  fork(kept: Fork["kept"]): void {
    this.entries.push({ type: "fork", at: monotonicMs(), kept });
  }

  async #call(kind: Call["kind"], { id, queue, key }: Subject, path: string, init: RequestInit): Promise<Call> {
    const invokedAt = monotonicMs();
    let [status, body]: [number, string | undefined] = [0, undefined];
    try {
      const answer = await fetch(this.#url() + path, { signal: AbortSignal.timeout(PATIENCE_MS), ...init });
      [status, body] = [answer.status, await answer.text()];
    } catch {
      // The process, or its connection, is gone.
    }
    const times = { invokedAt, returnedAt: monotonicMs() };
    const of = key === undefined ? { id, queue } : { id, queue, key };
    const call: Call = { type: "call", kind, ...of, ...times, ...heard(kind, status, body) };
    this.entries.push(call);
    return call;
  }
}
