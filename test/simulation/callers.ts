import { setTimeout as delay } from "node:timers/promises";
import type { Engine } from "../../src/engine/engine.ts";
import { ProblemError } from "../../src/errors.ts";
import { attemptsOf } from "../../src/http/task/documents/timeline.ts";
import { withTimeout } from "../../src/net/with-timeout.ts";
import { isOutcome } from "../../src/task.ts";
import { type CallAnswer, toldByState } from "../chaos/history/answer.ts";
import type { Call } from "../chaos/history/history.ts";
import type { Subject } from "../chaos/history/recorder.ts";
import { type GivenSubmission, submissionOf } from "../shared/submission.ts";
import type { Work, World } from "./world.ts";

/** How long a caller waits for an answer, ms. */
const PATIENCE_MS = 10_000;
/** Pause before a call without a clear answer is repeated, ms. */
const AGAIN_MS = 500;
/** How often a caller looks whether its task has ended, ms. */
const LOOK_MS = 5000;
/** Mean time between two arrivals, ms; and how many come at once. */
const ARRIVAL_MS = 2700;
const BURST = 30;
const KEYS = 4;

/** Callers of the API: they submit tasks of all kinds, read them, cancel some, retry some, and record the answers. */
export class Callers {
  readonly #world: World;
  readonly #lives = new Set<Promise<void>>();
  #count = 0;

  constructor(world: World) {
    this.#world = world;
  }

  get submitted(): number {
    return this.#count;
  }

  /** Submits tasks until a virtual time; resolves when all have ended and the end of each has been read. */
  async work(untilMs: number): Promise<void> {
    const { time, chance } = this.#world;
    while (time.nowMs < untilMs) {
      await delay(-Math.log(1 - chance()) * ARRIVAL_MS);
      const count = chance() < 0.05 ? BURST : 1;
      for (let n = 0; n < count; n += 1) {
        this.#count += 1;
        const life = this.#live(this.#count);
        this.#lives.add(life);
        life.then(
          () => this.#lives.delete(life),
          () => {},
        );
      }
    }
    await Promise.all(this.#lives);
  }

  async #live(n: number): Promise<void> {
    const { chance } = this.#world;
    const kind = chance();
    const [isKeyed, isDelayed, isLate, fails, isCanceled] = [0, 1, 2, 3, 4].map(
      (nth) => kind >= nth * 0.12 && kind < (nth + 1) * 0.12,
    );
    const key = isKeyed ? `k${Math.floor(chance() * KEYS)}` : undefined;
    const subject = { id: `task-${n}`, queue: isKeyed ? "keyed" : "work", ...(key !== undefined && { key }) };
    // Some take longer than a lease.
    const ms = Math.round(chance() < 0.1 ? chance() * 15_000 : chance() * 4000);
    const work = { ms, failures: fails ? Math.floor(chance() * 6) : 0, step: chance() < 0.1, key };
    const options: GivenSubmission = {
      ...(isKeyed && { key: key ?? null }),
      ...(isDelayed && { delayMs: Math.round(chance() * 60_000) }),
      ...(isLate && { deadlineMs: Math.round(1000 + chance() * 10_000) }),
    };
    while ((await this.#submit(subject, work, options, !fails)).outcome !== "ok") await delay(AGAIN_MS);
    await delay(chance() * 3000);
    if (isCanceled)
      await this.#insist((engine) => engine.call("cancel", { id: subject.id, queue: subject.queue, only: "pending" }));
    // The failure of a task that is retried later is not recorded, since it is not its end.
    if (!fails) await this.#ask(chance() < 0.5 ? "status" : "collect", subject);
    for (let isRetried = false; ; ) {
      const seen = await this.#insist((engine) => engine.inspector.inspect(subject.id, { result: false }));
      if (seen === null) break;
      if (seen.state === "failed" && !isRetried) {
        isRetried = true;
        await this.#insist((engine) => engine.call("retry", { id: subject.id, queue: seen.queue }));
      } else if (isOutcome(seen.state)) break;
      await delay(LOOK_MS);
    }
    for (const last of ["timeline", "collect"] as const)
      while ((await this.#ask(last, subject)).outcome !== "ok") await delay(AGAIN_MS);
  }

  #submit({ id, queue, key }: Subject, work: Work, options: GivenSubmission, tells: boolean): Promise<Call> {
    const submission = submissionOf(id, queue, JSON.stringify({ ...work, key }), options);
    return this.#call("submit", { id, queue, ...(key !== undefined && { key }) }, async (engine) => {
      const { verdict, state, index } = await engine.submitter.submit(submission, engine.queues.settings(queue));
      if (verdict !== "new" && verdict !== "replay") return { outcome: "failed", answer: verdict };
      return {
        outcome: "ok",
        answer: verdict,
        told: tells ? toldByState(state) : "pending",
        ...(index !== null && { index }),
      };
    });
  }

  #ask(kind: "status" | "collect" | "timeline", subject: Subject): Promise<Call> {
    const { id } = subject;
    return this.#call(kind, subject, async (engine) => {
      const seen = await engine.inspector.inspect(id, { result: kind === "collect" });
      if (seen === null) return { outcome: "ok", answer: "unknown", told: "unknown" };
      const details = kind === "timeline" ? await engine.call("details", { id, queue: seen.queue }) : null;
      const body = seen.state === "succeeded" ? seen.result?.body : undefined;
      return {
        ...{ outcome: "ok", answer: seen.state, told: toldByState(seen.state) },
        ...(seen.index !== null && { index: seen.index }),
        ...(details && { starts: attemptsOf(seen, details, true).attempts.length }),
        ...(body && { fence: (JSON.parse(String(body)) as { fence: number }).fence }),
      };
    });
  }

  async #call(kind: Call["kind"], subject: Subject, ask: (engine: Engine) => Promise<CallAnswer>): Promise<Call> {
    const { time, history } = this.#world;
    const invokedAt = time.nowMs;
    const heard = await this.#once(ask).catch(
      (error: unknown): CallAnswer => ({
        outcome: "unknown",
        answer: error instanceof ProblemError ? error.code : `${error}`,
      }),
    );
    const call: Call = { type: "call", kind, ...subject, invokedAt, returnedAt: time.nowMs, ...heard };
    history.push(call);
    return call;
  }

  /** Repeats a call until it is answered, without recording it. */
  async #insist<T>(ask: (engine: Engine) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#once(ask);
      } catch {
        await delay(AGAIN_MS);
      }
    }
  }

  /** The process may die meanwhile; then there is no answer. */
  #once<T>(ask: (engine: Engine) => Promise<T>): Promise<T> {
    const { api, time } = this.#world;
    const { engine } = api;
    if (!engine) return Promise.reject(new Error("connection refused"));
    const late = () => new Error("no answer");
    return withTimeout(
      PATIENCE_MS,
      time.in(api.process, () => ask(engine)),
      late,
    );
  }
}
