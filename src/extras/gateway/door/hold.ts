import { setTimeout as delay } from "node:timers/promises";
import type { Engine } from "../../../engine/engine.ts";
import type { QueueSettings } from "../../../engine/settings.ts";
import type { Submission } from "../../../engine/tasks/submission.ts";
import type { SubmissionVerdict } from "../../../engine/tasks/submit.ts";
import type { Subscription } from "../../../engine/watch/notices.ts";
import type { Logger } from "../../../log.ts";
import { type Answer, isOutcome } from "../../../task.ts";

/** How often a process looks at the turns that it holds, as a part of their presence; and at least, ms, since a notice may be lost. */
const LOOKS = { parts: 3, everyMs: 5000 } as const;
/** How long the end of a turn is told again while the store is away, ms: its presence ends it at last. */
const TELL_MS = { again: 500, atMost: 60_000 } as const;

/** What has become of a turn that is waited for: it is called, or it no longer waits. */
export type Call = "called" | "gone";

/** The turns that this process takes for callers whose connections it holds. It looks at all of them at once, which keeps them. */
export class Holds {
  readonly engine: Engine;
  readonly settings: QueueSettings;
  readonly log: Logger;
  readonly #held = new Set<Hold>();
  #timer: NodeJS.Timeout | undefined;

  /** @param settings of the queue of all its turns */
  constructor(engine: Engine, settings: QueueSettings, log: Logger) {
    this.engine = engine;
    this.settings = settings;
    this.log = log;
  }

  /** For how long a turn stays if this process is gone, ms. */
  get presenceMs(): number {
    return this.settings.leaseMs;
  }

  /** Begins to hold a turn, which is to be submitted. */
  add(task: Pick<Submission, "id" | "queue">): Hold {
    const hold = new Hold(this, task, () => this.#held.delete(hold));
    this.#held.add(hold);
    if (this.#timer === undefined) this.#lookLater();
    return hold;
  }

  #lookLater(): void {
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#held.size === 0) return;
        for (const hold of this.#held) hold.look();
        this.#lookLater();
      },
      Math.min(LOOKS.everyMs, this.presenceMs / LOOKS.parts),
    ).unref();
  }
}

/** One turn of a caller whose connection this process holds. */
export class Hold {
  readonly #of: Holds;
  readonly #task: Pick<Submission, "id" | "queue">;
  readonly #listening: Subscription;
  readonly #released: () => void;
  readonly #lost = new AbortController();
  #onCall: ((call: Call) => void) | undefined;
  /** The last call that nobody has waited for yet. */
  #call: Call | undefined;
  #fence = "";
  /** Until it is answered, a look could not tell a turn that is not stored yet from one that is gone. */
  #submission: Promise<SubmissionVerdict> | undefined;
  #isSubmitted = false;
  #isLooking = false;
  #looksAgain = false;
  #isOver = false;

  constructor(of: Holds, task: Pick<Submission, "id" | "queue">, released: () => void) {
    this.#of = of;
    this.#task = task;
    this.#released = released;
    this.#listening = of.engine.notices.listen(task, (notice) => {
      if (notice?.output !== true) this.look();
    });
  }

  /** Fires when a turn that was called is over without its caller: ended by an operator, or too long. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Of the turn that was called last; "" before the first. */
  get fence(): string {
    return this.#fence;
  }

  /** @throws ProblemError store-unavailable, store-full */
  async submit(submission: Submission): Promise<SubmissionVerdict> {
    this.#submission = this.#submit(submission);
    const verdict = await this.#submission;
    this.#isSubmitted = true;
    if (verdict.verdict !== "new" && verdict.verdict !== "replay") this.#release();
    else if (verdict.fence !== undefined) this.#called(verdict.fence);
    // What has happened meanwhile; and of a repetition, whose first answer was lost, whether the turn has begun.
    else if (this.#looksAgain || verdict.verdict === "replay") this.look();
    return verdict;
  }

  async #submit(submission: Submission): Promise<SubmissionVerdict> {
    await this.#listening.ready;
    return await this.#of.engine.submitter.submit(submission, this.#of.settings, true);
  }

  /** Resolves when the turn is called, or no longer waits: its caller has left, or it is over. */
  called(): Promise<Call> {
    const known = this.#call;
    this.#call = undefined;
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      this.#onCall = resolve;
    });
  }

  /** Reads the turn, which keeps it; while it is being read, once more afterwards. */
  look(): void {
    if (this.#isOver) return;
    this.#looksAgain = this.#isLooking || !this.#isSubmitted;
    if (!this.#looksAgain) void this.#look();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      const attends = () => !this.#isOver;
      const seen = await this.#of.engine.inspector.inspect(this.#task.id, { result: false, attends });
      if (this.#isOver) return;
      if (seen === null || isOutcome(seen.state)) this.#gone();
      else if (seen.state === "running" && seen.fence !== null) this.#called(seen.fence);
    } catch (error) {
      // The store is away: the next look comes soon, and until then whoever is served is served.
      this.#of.log.debug({ err: error }, "door: could not look at a turn");
    } finally {
      this.#isLooking = false;
      if (this.#looksAgain) this.look();
    }
  }

  #called(fence: string): void {
    // A look that began before it was given back may still see the turn before.
    if (this.#isOver || Number(fence) <= Number(this.#fence)) return;
    this.#fence = fence;
    this.#tell("called");
  }

  #gone(): void {
    this.#release();
    this.#lost.abort();
  }

  #tell(call: Call): void {
    const told = this.#onCall;
    this.#onCall = undefined;
    if (told) told(call);
    else this.#call = call;
  }

  /** The turn was not used, since the API could not be reached: its caller keeps its place, and is called again. Never rejects. */
  async giveBack(): Promise<void> {
    const release = { ...this.#lease, unbegun: true };
    await this.#insist(
      () => this.#of.engine.call("release", release),
      () => !this.#isOver,
    );
    this.look();
  }

  /** The turn is over; its result is stored. Never rejects. */
  done(result: Answer): Promise<void> {
    return this.#end(() => this.#of.engine.leases.complete(this.#lease, result, this.#of.settings));
  }

  /** The turn is over, and nothing came of it: the answer is a problem. Never rejects. */
  failed(error: string, code: string, result: Answer): Promise<void> {
    const failure = { kind: "give-up", delayMs: 0, error, code, result } as const;
    return this.#end(() => this.#of.engine.leases.fail(this.#lease, failure, this.#of.settings));
  }

  /** Its caller has gone: out of the line, or out of its turn. Never rejects. */
  leave(): Promise<void> {
    return this.#end(() => this.#of.engine.call("cancel", this.#task));
  }

  get #lease() {
    return { ...this.#task, fence: this.#fence };
  }

  async #end(tell: () => Promise<unknown>): Promise<void> {
    if (this.#isOver) return;
    this.#release();
    // One that has left before the store has its turn would otherwise be forgotten by the store only with its presence.
    await this.#submission?.catch(() => undefined);
    const deadline = performance.now() + TELL_MS.atMost;
    if (await this.#insist(tell, () => performance.now() < deadline)) return;
    const { id, queue } = this.#task;
    this.#of.log.warn({ id, queue }, "door: could not end a turn; it ends when its presence does");
  }

  /** Tells the store what frees a turn, again while the store is away and there is a reason to. Returns whether it has been told. */
  async #insist(tell: () => Promise<unknown>, hasReason: () => boolean): Promise<boolean> {
    for (;;) {
      try {
        await tell();
        return true;
      } catch (error) {
        this.#of.log.debug({ err: error }, "door: could not tell the store about a turn");
        if (!hasReason()) return false;
      }
      await delay(TELL_MS.again, undefined, { ref: false });
    }
  }

  #release(): void {
    this.#isOver = true;
    this.#listening.stop();
    this.#released();
    this.#tell("gone");
  }
}
