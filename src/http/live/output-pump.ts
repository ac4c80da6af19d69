import type { ByteBudget, Claim } from "../../engine/large-values/byte-budget.ts";
import type { Inspection } from "../../engine/reading/inspect.ts";
import type { OutputFeeds, OutputPage } from "../../engine/watching/output-feeds.ts";

/** A followed task. Its creation time tells it from a later task with the same id. */
export type FollowedTask = Pick<Inspection, "id" | "queue" | "caller" | "createdMs">;

/** A page of up to this many characters is sent without asking for room: the number of connections limits how much these hold. */
const SHORT_PAGE = 64 * 1024;

/** What all readers of outputs share. */
export interface OutputSource {
  readonly feeds: OutputFeeds;
  /** How many characters of long pages this process holds until their readers have read them. */
  readonly held: ByteBudget;
}

/** Where output is sent. */
export interface OutputSink {
  /** Sends the values of a page; false if no more may be sent before {@link OutputPump.resume}. */
  write(page: OutputPage): boolean;
  /** Called when everything that existed at {@link OutputPump.finish} has been sent. */
  end(): void;
  /** The output could not be read. */
  fail(error: unknown): void;
}

/** Sends the output of a task to one reader, a page at a time, as fast as the reader reads. */
export class OutputPump {
  readonly #sink: OutputSink;
  readonly #following: ReturnType<OutputFeeds["follow"]>;
  #next: number;
  /** The reader has to read what was sent first. */
  #blocked = false;
  /** Whether it was started: what wakes other readers of the same output must not start this one. */
  #started = false;
  #running = false;
  /** There may be values that the current run has not seen. */
  #again = false;
  #stopped = false;
  readonly #held: ByteBudget;
  /** The room for the page that the reader reads now or next. */
  #claim: Claim | undefined;
  /** The number after that of the last value to send, once known. */
  #until = Number.POSITIVE_INFINITY;

  /** @param from the number of the first value to send */
  constructor({ feeds, held }: OutputSource, task: FollowedTask, from: number, sink: OutputSink) {
    this.#sink = sink;
    this.#held = held;
    this.#next = from;
    this.#following = feeds.follow(task, () => this.#wake());
  }

  /** The number of the next value to send. */
  get next(): number {
    return this.#next;
  }

  /** Sends the values that exist, and new ones as they arrive. */
  start(): void {
    this.#refresh(() => this.#wake());
  }

  /** Call it when the reader can take more. */
  resume(): void {
    this.#blocked = false;
    this.#letGo();
    this.#wake();
  }

  /** Sends the values that exist now, then ends. */
  finish(): void {
    this.#refresh(() => {
      this.#until = Math.min(this.#until, this.#following.feed.total);
      this.#wake();
    });
  }

  /** Sends nothing more; idempotent. */
  stop(): void {
    this.#stopped = true;
    this.#letGo();
    this.#following.stop();
  }

  #refresh(then: () => void): void {
    this.#started = true;
    this.#following.feed.refresh().then(then, (error: unknown) => this.#fail(error));
  }

  #wake(): void {
    if (!this.#started || this.#stopped) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = true;
    this.#run()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#running = false;
        if (!this.#again) return;
        this.#again = false;
        this.#wake();
      });
  }

  async #run(): Promise<void> {
    const { feed } = this.#following;
    while (!this.#stopped && !this.#blocked) {
      if (this.#next >= this.#until) {
        this.stop();
        return this.#sink.end();
      }
      if (this.#next >= feed.total) return;
      const read = feed.page(this.#next);
      const page = read instanceof Promise ? await read : read;
      if (this.#stopped || page.values.length === 0 || !this.#hasRoom(page)) return;
      this.#next = page.from + page.values.length;
      this.#blocked = !this.#sink.write(page);
      if (!this.#blocked) this.#letGo();
    }
  }

  /** Whether the process has room for the page while the reader reads it; if not, the pump continues when it has. */
  #hasRoom({ length }: OutputPage): boolean {
    if (length <= SHORT_PAGE) return true;
    this.#claim ??= this.#held.claim(length, () => this.#wake());
    return this.#claim.granted;
  }

  #letGo(): void {
    this.#claim?.release();
    this.#claim = undefined;
  }

  #fail(error: unknown): void {
    if (this.#stopped) return;
    this.stop();
    this.#sink.fail(error);
  }
}
