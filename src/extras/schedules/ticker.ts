import type { Engine } from "../../engine/engine.ts";
import { ProblemError, reasonOf } from "../../errors.ts";
import { refusalOf } from "../../http/submit/refusal.ts";
import { taskLinks } from "../../http/task/links.ts";
import type { Logger } from "../../log.ts";
import { Loop, type Role } from "../../loop.ts";
import { isOutcome, type State } from "../../task.ts";
import { type Definition, taskIdOf } from "./definition.ts";
import { DueTimes, dueNow } from "./due-times.ts";
import { dueText, missedText } from "./missed.ts";
import type { Schedules } from "./schedules.ts";
import { SCHEDULE } from "./store.ts";
import type { DueState, ScheduleRow } from "./verbs.ts";

/** The longest pause between two ticks: by then another process may have stored a schedule, and declarations are renewed, ms. */
const USUAL_MS = 4000;
/** How many schedules a tick takes: it holds them for a while only. */
const MAX_TAKEN = 20;
/** The pause before a refused submission is tried again, at least, ms. */
const RETRY_MS = 1000;

const REFUSED = "schedules: the task of a due time was refused for the moment; trying again until the next one";

/** What a ticker needs. */
interface TickerParts {
  readonly schedules: Schedules;
  readonly engine: Engine;
  readonly log: Logger;
  /** When the server started, by `performance.now()`. */
  readonly startedMs: number;
  /** Is told for how long the first due time has waited. */
  readonly late: { set(seconds: number): void };
}

/** What became of a due time; `later` if it was refused for the moment. */
type Verdict =
  | { readonly state: DueState; readonly task: string }
  | { readonly laterMs: number; readonly reason: string };

const outcomeIn = (state: State | undefined) => (state !== undefined && isOutcome(state) ? state : null);

/** Submits the tasks of schedules when they are due. Every process has one: whoever comes first takes a schedule for a while. */
export class ScheduleTicker implements Role {
  readonly #parts: TickerParts;
  readonly #loop: Loop;
  /** How many due schedules the last tick has looked at without an end. */
  #skip = 0;

  constructor(parts: TickerParts) {
    this.#parts = parts;
    this.#loop = new Loop({
      intervalMs: USUAL_MS,
      tick: () => this.tick(),
      onError: (error) => parts.log.warn({ reason: reasonOf(error) }, "schedules: a tick failed; trying again"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Looks at once: a schedule has changed. */
  wake(): void {
    this.#loop.wake();
  }

  /** Submits what is due now. Returns in how many milliseconds the next tick is needed, undefined for a usual pause. */
  async tick(): Promise<number | undefined> {
    const { schedules, startedMs, log, late } = this.#parts;
    const asked = { max: MAX_TAKEN, skip: this.#skip, livedMs: Math.floor(performance.now() - startedMs) };
    const { nowMs, goneMs, nextMs, lateMs, skip, unknown, rows } = await schedules.tick(asked);
    this.#skip = skip;
    late.set(lateMs / 1000);
    // The store has lost them.
    if (unknown.length > 0) await schedules.synchronize(unknown);
    const looks = rows.map((row) => this.#look(row, nowMs, goneMs));
    for (const [n, look] of (await Promise.allSettled(looks)).entries()) {
      if (look.status === "rejected")
        log.warn({ schedule: rows[n]?.id, reason: reasonOf(look.reason) }, "schedules: a look failed; trying again");
    }
    await this.#noteEnds();
    // What was taken may be due again at once.
    if (unknown.length > 0 || rows.length > 0) return 1;
    return nextMs === null ? undefined : Math.max(1, nextMs - nowMs);
  }

  /** Submits what is due of a schedule. */
  async #look(row: ScheduleRow, nowMs: number, goneMs: number): Promise<void> {
    const { schedules, log } = this.#parts;
    const { id, last, retryUntilMs, afterMs } = row;
    const definition = JSON.parse(row.definition) as Definition;
    const times = new DueTimes(definition, row.createdMs);
    const untilMs = retryUntilMs === 0 ? Number.POSITIVE_INFINITY : retryUntilMs;
    const retry = last && untilMs !== null ? { atMs: last.atMs, untilMs } : null;
    const { due, leftOutMs, missedMs, nextMs } = dueNow(times, definition.missed, { afterMs, retry, goneMs, nowMs });
    const step = { id, state: "", task: "", missedMs: [], atMs: null, retryUntilMs: null, holdMs: 0 } as const;
    let { heldMs, task } = row;
    if (leftOutMs !== null || due.length === 0) {
      const missed = leftOutMs === null ? {} : { afterMs: leftOutMs, atMs: leftOutMs, state: "missed" as const };
      const holdMs = due.length > 0 ? SCHEDULE.scheduleHoldMs : 0;
      heldMs = await schedules.step({
        ...step,
        heldMs,
        afterMs,
        missedMs,
        nextMs: due[0] ?? nextMs,
        holdMs,
        ...missed,
      });
    }
    if (missedMs.length > 0) this.#tellMissed(row, definition, missedText(missedMs.length, missedMs.at(-1) ?? 0));
    // Its last chance has passed.
    else if (last && retry && nowMs >= retry.untilMs)
      this.#tellMissed(row, definition, `refused until the next one: ${dueText(last.atMs)}`);
    for (const [n, atMs] of due.entries()) {
      if (heldMs === 0) return;
      const verdict = await this.#submit(id, definition, atMs, task);
      if ("laterMs" in verdict) {
        const holdMs = Math.min(
          SCHEDULE.scheduleLongestHoldMs,
          verdict.laterMs,
          Math.max(1, (nextMs ?? Infinity) - nowMs),
        );
        // Every second, perhaps for hours: told once.
        if (retry === null) log.warn({ schedule: id, reason: verdict.reason }, REFUSED);
        const again = { state: "refused", nextMs: atMs, retryUntilMs: nextMs ?? 0, holdMs } as const;
        await schedules.step({ ...step, missedMs: n === 0 ? missedMs : [], heldMs, afterMs, atMs, ...again });
        return;
      }
      task = verdict.task || task;
      const holdMs = n + 1 < due.length ? SCHEDULE.scheduleHoldMs : 0;
      heldMs = await schedules.step({
        ...step,
        ...verdict,
        missedMs: n === 0 && leftOutMs === null ? missedMs : [],
        heldMs,
        afterMs: atMs,
        atMs,
        nextMs: due[n + 1] ?? nextMs,
        holdMs,
      });
    }
  }

  #tellMissed({ id }: ScheduleRow, definition: Definition, what: string): void {
    const { log } = this.#parts;
    log.warn({ schedule: id, queue: definition.queue }, `schedules: due times of ${id} were missed: ${what}`);
    this.#note(id, definition, what);
  }

  #note(id: string, { queue }: Definition, what: string): void {
    void this.#parts.engine.events.note({ kind: "schedule-missed", queue, detail: `${id}: ${what}` });
  }

  /** Notes how the tasks of due times have ended: their results may be deleted long before the next one. */
  async #noteEnds(): Promise<void> {
    const { schedules, engine } = this.#parts;
    const runs = await schedules.openRuns(MAX_TAKEN);
    const seen = runs.map(async ({ id, atMs }) => {
      const task = await engine.inspector.inspect(taskIdOf(id, atMs), { result: false });
      if (task === null || isOutcome(task.state)) await schedules.endRun({ id, atMs, state: outcomeIn(task?.state) });
    });
    await Promise.all(seen);
  }

  /** Submits the task of a due time. @param before the task of the due time before; "" for none */
  async #submit(schedule: string, definition: Definition, atMs: number, before: string): Promise<Verdict> {
    const { schedules, engine, log } = this.#parts;
    const id = taskIdOf(schedule, atMs);
    const line = { schedule, id, queue: definition.queue };
    try {
      if (definition.overlap === "skip" && before !== "" && before !== id) {
        const seen = await engine.inspector.inspect(before, { result: false });
        if (seen && !isOutcome(seen.state)) return { state: "skipped", task: "" };
      }
      // The input may have changed since a process that died has submitted it.
      const submission = await schedules.submissionOf(id, definition, id);
      const verdict = await engine.submitter.submit(submission, engine.queues.settings(submission.queue));
      const refusal = refusalOf(submission, verdict, { byKey: false, linksTo: ({ id }) => taskLinks(id) });
      if (!refusal) return { state: "submitted", task: id };
      throw refusal;
    } catch (error) {
      const reason = reasonOf(error);
      const status = error instanceof ProblemError ? error.status : 0;
      if (status !== 429 && status !== 503) {
        log.error({ ...line, reason }, "schedules: the task of a due time was refused; the schedule goes on");
        this.#note(schedule, definition, `refused: ${dueText(atMs)}`);
        return { state: "refused", task: "" };
      }
      const retryAfterS = error instanceof ProblemError ? (error.retryAfterS ?? 0) : 0;
      return { laterMs: Math.max(RETRY_MS, retryAfterS * 1000), reason };
    }
  }
}
