import { setTimeout as delay } from "node:timers/promises";
import type { Call, CallAnswer, Fork, HistoryEntry } from "./history/history.ts";
import type { Work } from "./work.ts";

/** The task of a call. */
export interface Subject {
  readonly id: string;
  readonly queue: string;
  /** Its key in a keyed line. */
  readonly key?: string;
}

/** What a caller wants done, and how. */
export interface Order {
  readonly work: Work;
  readonly delayMs?: number;
  readonly deadlineMs?: number;
  /** Whether the caller waits for its end in the same call, however long it takes. */
  readonly waits?: boolean;
}

/** A deployment, as its callers see it. */
export interface Deployment {
  readonly chance: () => number;
  /** Milliseconds of a clock that no fault changes. */
  nowMs(): number;
  submit(subject: Subject, order: Order): Promise<CallAnswer>;
  ask(kind: "status" | "collect" | "timeline", subject: Subject): Promise<CallAnswer>;
  /** Resolves when the API has told that the task has ended, or does not exist; rejects when the API is gone. */
  watch(subject: Subject): Promise<unknown>;
  /** Cancels a task that has not ended, or retries a dead one. Rejects when it is not clear whether that was done. */
  act(verb: "cancel" | "retry", subject: Subject): Promise<unknown>;
}

/** How much the callers want. */
export interface Pace {
  /** Mean time between two arrivals, ms. */
  readonly everyMs: number;
  /** The unit of what callers wait for and handlers take. */
  readonly secondMs: number;
  /** How many wait at once; nobody else comes meanwhile. */
  readonly most: number;
}

/** How many come at once, now and then. */
const BURST = { share: 0.05, count: 30 } as const;
/** Pause before a call without a clear answer is repeated, ms, whatever the pace: many callers would overload what is just back. */
const AGAIN_MS = 500;
/** How soon a caller looks again whether its task has ended, s. */
const LOOK_S = 10;
/** The shortest deadline that may be given, ms. */
const LEAST_DEADLINE_MS = 1000;
const KEYS = 4;
/** The kinds of tasks, as many of each. */
const KINDS = [
  ...(["plain", "plain", "plain", "keyed", "delayed", "late", "failing", "canceled"] as const),
  ...(["watched", "waited for", "submitted twice"] as const),
] as const;

let all = 0;

/**
 * Callers of an API: they submit tasks of all kinds, some of them twice at once, read and watch them, cancel some, retry some, and record the
 * answers. The caller of each task reads its end.
 */
export class Callers {
  /** What they asked and heard. */
  readonly history: HistoryEntry[];
  /** The ids of tasks that were reported as accepted. */
  readonly accepted = new Set<string>();
  /** The longest time that one had to wait for an answer that does not wait for the task, ms. */
  slowestMs = 0;
  readonly #to: Deployment;
  readonly #pace: Pace;
  readonly #name: string;
  readonly #lives = new Map<string, Promise<void>>();
  readonly #subjects = new Map<string, Subject>();
  readonly #submitting = new Set<Promise<unknown>>();
  #gate: Promise<void> | undefined;
  #arriving: Promise<void> | undefined;
  #isOver = false;
  #isGone = false;

  /** @param history where they record what they see */
  constructor(to: Deployment, pace: Pace, history: HistoryEntry[] = []) {
    all += 1;
    this.#name = `task${all}`;
    this.#to = to;
    this.#pace = pace;
    this.history = history;
  }

  get submitted(): number {
    return this.#subjects.size;
  }

  /** The ids of tasks whose callers still wait for their end. */
  get open(): string[] {
    return [...this.#lives.keys()];
  }

  /** More and more tasks are submitted. */
  start(): void {
    this.#arriving = this.#arrive();
  }

  /** No more come; resolves when every task has ended and its caller has read the end. */
  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#arriving;
    await Promise.all(this.#lives.values());
  }

  /** All go, whatever they wait for. */
  leave(): void {
    this.#isOver = true;
    this.#isGone = true;
  }

  /** Resolves when this many more tasks have been accepted. */
  async more(count: number): Promise<void> {
    for (const goal = this.accepted.size + count; this.accepted.size < goal; ) await this.#pause(0.2);
  }

  /** Lets nobody submit while something is done, after the submissions in flight are answered. */
  async pauseWhile(act: () => Promise<unknown>): Promise<void> {
    let open = () => {};
    this.#gate = new Promise((resolve) => {
      open = resolve;
    });
    await Promise.all(this.#submitting);
    await act();
    this.#gate = undefined;
    open();
  }

  /** From now on the store has an older state. */
  fork(kept: Fork["kept"]): void {
    this.history.push({ type: "fork", at: this.#to.nowMs(), kept });
  }

  /** Reads every task once more, when all have ended. */
  async readAll(): Promise<void> {
    for (const subject of this.#subjects.values()) await this.collect(subject);
  }

  /** Reads the end of a task, until the answer is clear. */
  collect(subject: Subject): Promise<void> {
    return this.#clearly("collect", subject);
  }

  /** Submits a task once, and records the answer. */
  async submit(subject: Subject, order: Order): Promise<Call> {
    await this.#gate;
    this.#subjects.set(subject.id, subject);
    const calling = this.#record("submit", subject, async () => {
      const heard = await this.#to.submit(subject, order);
      // A failure that may be followed by a retry is not its end.
      return heard.told === "failed" && order.work.failures ? { ...heard, told: "pending" } : heard;
    });
    this.#submitting.add(calling);
    const call = await calling;
    this.#submitting.delete(calling);
    if (call.outcome === "ok") this.accepted.add(subject.id);
    if (!order.waits) this.slowestMs = Math.max(this.slowestMs, call.returnedAt - call.invokedAt);
    return call;
  }

  async #arrive(): Promise<void> {
    const { chance } = this.#to;
    for (;;) {
      await delay(-Math.log(1 - chance()) * this.#pace.everyMs);
      if (this.#isOver) return;
      if (this.#lives.size >= this.#pace.most) continue;
      for (let count = chance() < BURST.share ? BURST.count : 1; count > 0; count -= 1) {
        const kind = KINDS[Math.floor(chance() * KINDS.length)] ?? "plain";
        const id = `${this.#name}-${this.submitted}`;
        const subject =
          kind === "keyed" ? { id, queue: "keyed", key: `k${Math.floor(chance() * KEYS)}` } : { id, queue: "work" };
        this.#subjects.set(id, subject);
        const life = this.#live(subject, kind);
        this.#lives.set(id, life);
        life.then(
          () => this.#lives.delete(id),
          () => {},
        );
      }
    }
  }

  async #live(subject: Subject, kind: (typeof KINDS)[number]): Promise<void> {
    const { chance } = this.#to;
    const { secondMs } = this.#pace;
    const fails = kind === "failing";
    // Some take longer than a lease.
    const ms = Math.round((chance() < 0.1 ? 15 : 4) * chance() * secondMs);
    const order: Order = {
      work: { ms, failures: fails ? Math.floor(chance() * 6) : 0, step: chance() < 0.1, key: subject.key },
      ...(kind === "delayed" && { delayMs: Math.round(chance() * 60 * secondMs) }),
      ...(kind === "late" && { deadlineMs: Math.round(LEAST_DEADLINE_MS + chance() * 10 * secondMs) }),
      ...(kind === "waited for" && { waits: true }),
    };
    const twin = kind === "submitted twice" ? this.submit(subject, order) : undefined;
    while ((await this.submit(subject, order)).outcome !== "ok") await this.#again();
    await twin;
    await this.#pause(3 * chance());
    if (kind === "canceled") await this.#insist(() => this.#to.act("cancel", subject));
    if (!fails) await this.#ask(chance() < 0.5 ? "status" : "collect", subject);
    for (let isRetried = false; ; ) {
      if (kind === "watched") await this.#insist(() => this.#to.watch(subject));
      const { told } = await this.#clear(() => this.#to.ask("status", subject));
      if (told === "failed" && !isRetried) {
        isRetried = true;
        await this.#insist(() => this.#to.act("retry", subject));
      } else if (told !== "pending") break;
      else await this.#pause(LOOK_S);
    }
    await this.#clearly("timeline", subject);
    await this.#clearly("collect", subject);
  }

  /** Asks until there is a clear answer, and records all of them. */
  async #clearly(kind: "timeline" | "collect", subject: Subject): Promise<void> {
    while ((await this.#ask(kind, subject)).outcome !== "ok") await this.#again();
  }

  #ask(kind: "status" | "collect" | "timeline", subject: Subject): Promise<Call> {
    return this.#record(kind, subject, () => this.#to.ask(kind, subject));
  }

  async #record(kind: Call["kind"], subject: Subject, ask: () => Promise<CallAnswer>): Promise<Call> {
    const invokedAt = this.#to.nowMs();
    const heard = await ask().catch((error: unknown): CallAnswer => ({ outcome: "unknown", answer: `${error}` }));
    const call: Call = { type: "call", kind, ...subject, invokedAt, returnedAt: this.#to.nowMs(), ...heard };
    this.history.push(call);
    return call;
  }

  /** Repeats a question until its answer is clear, without recording it. */
  #clear(ask: () => Promise<CallAnswer>): Promise<CallAnswer> {
    return this.#insist(async () => {
      const heard = await ask();
      if (heard.outcome !== "ok") throw new Error(heard.answer);
      return heard;
    });
  }

  async #insist<T>(act: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await act();
      } catch {
        await this.#again();
      }
    }
  }

  #again(): Promise<void> {
    return this.#pause(AGAIN_MS / this.#pace.secondMs);
  }

  async #pause(seconds: number): Promise<void> {
    await delay(seconds * this.#pace.secondMs);
    if (this.#isGone) throw new Error("the callers have gone");
  }
}
