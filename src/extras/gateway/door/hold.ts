import type { Engine } from "../../../engine/engine.ts";
import type { QueueSettings } from "../../../engine/settings.ts";
import type { Submission } from "../../../engine/tasks/submission.ts";
import type { SubmissionVerdict } from "../../../engine/tasks/submit.ts";
import type { Inspection } from "../../../engine/watch/inspect.ts";
import type { Subscription } from "../../../engine/watch/notices.ts";
import { reasonOf } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";
import { type Answer, isOutcome } from "../../../task.ts";

/** How often a process looks at the turns that it holds, as a part of their presence; and at least, ms, since a notice may be lost. */
const LOOKS = { parts: 3, everyMs: 5000 } as const;
/** How long the end of a turn is told again while the store is away, ms: its presence ends it at last. */
const TELL_MS = { again: 500, atMost: 60_000 } as const;

/** What has become of a turn that is waited for: it is called, under a fence; or it no longer waits, and why, null if it is unknown. */
export type Call = { readonly fence: string } | { readonly gone: Inspection | null };

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

  /** Fires when a turn that was called is over without its caller: ended by an operator, or too long. Its reason is the task, or null. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Of the turn that was called last; "" before the first. */
  get fence(): string {
    return this.#fence;
  }

  /** @throws ProblemError store-unavailable, store-full */
  async submit(submission: Submission): Promise<SubmissionVerdict> {
    const { engine, settings } = this.#of;
    await this.#listening.ready;
    const verdict = await engine.submitter.submit(submission, settings, true);
    if (verdict.fence !== undefined) this.#called(verdict.fence);
    return verdict;
  }

  /** Resolves when the turn is called, or no longer waits. */
  called(): Promise<Call> {
    const known = this.#call;
    this.#call = undefined;
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      this.#onCall = resolve;
    });
  }

  /** The turn as it is now; null if that cannot be known. */
  async place(): Promise<Inspection | null> {
    return await this.#of.engine.inspector.inspect(this.#task.id, { result: false }).catch(() => null);
  }

  /** Reads the turn, which keeps it; while it is being read, once more afterwards. */
  look(): void {
    if (this.#isOver) return;
    this.#looksAgain = this.#isLooking;
    if (!this.#isLooking) void this.#look();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      const attends = () => !this.#isOver;
      const seen = await this.#of.engine.inspector.inspect(this.#task.id, { result: false, attends });
      if (this.#isOver) return;
      if (seen === null || isOutcome(seen.state)) this.#gone(seen);
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
    this.#tell({ fence });
  }

  #gone(seen: Inspection | null): void {
    this.#release();
    this.#lost.abort(seen);
    this.#tell({ gone: seen });
  }

  #tell(call: Call): void {
    const told = this.#onCall;
    this.#onCall = undefined;
    if (told) told(call);
    else this.#call = call;
  }

  /** The turn was not used, since the API could not be reached: its caller keeps its place, and is called again. @throws ProblemError store-unavailable */
  async giveBack(): Promise<void> {
    await this.#of.engine.call("release", { ...this.#lease, unbegun: true });
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

  /** Tells the store that the turn is over, again while the store is away: what it frees is somebody else's. */
  async #end(tell: () => Promise<unknown>): Promise<void> {
    if (this.#isOver) return;
    this.#release();
    const deadline = performance.now() + TELL_MS.atMost;
    for (;;) {
      try {
        await tell();
        return;
      } catch (error) {
        if (performance.now() > deadline) {
          const { id, queue } = this.#task;
          const reason = reasonOf(error);
          this.#of.log.warn({ id, queue, reason }, "door: could not end a turn; it ends when its presence does");
          return;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, TELL_MS.again));
    }
  }

  #release(): void {
    this.#isOver = true;
    this.#listening.stop();
    this.#released();
  }
}
