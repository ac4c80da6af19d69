import type { ByteBudget, Claim } from "../../engine/large-values/byte-budget.ts";
import type { Inspection } from "../../engine/reading/inspect.ts";
import type { OutputFeeds, OutputPage } from "../../engine/watching/output-feeds.ts";

/** A task that is followed: another one that comes to have its id was created at another time. */
export type FollowedTask = Pick<Inspection, "id" | "createdMs">;

/** A page up to this many characters is sent without asking for room: what these hold is limited by the number of connections. */
const SHORT_PAGE = 64 * 1024;

/** What all readers of outputs share. */
export interface OutputSource {
  readonly feeds: OutputFeeds;
  /** What long pages hold in this process, in characters, until their readers have taken them. */
  readonly held: ByteBudget;
}

/** Where output goes. */
export interface OutputSink {
  /** Sends the values of a page; false when no more is to come before {@link OutputPump.resume}. */
  write(page: OutputPage): boolean;
  /** All is sent that was there when {@link OutputPump.finish} was called. */
  end(): void;
  /** The output could not be read. */
  fail(error: unknown): void;
}

/** Takes the output of a task to one reader, a page at a time, as fast as that takes it. */
export class OutputPump {
  readonly #sink: OutputSink;
  readonly #following: ReturnType<OutputFeeds["follow"]>;
  #next: number;
  /** The reader has to take what was sent first. */
  #blocked = false;
  /** Others follow the same output: what wakes them is nothing to one that has not been started. */
  #started = false;
  #running = false;
  /** There may be more than the run under way has seen. */
  #again = false;
  #stopped = false;
  readonly #held: ByteBudget;
  /** The room for the page that the reader is to take next, or is taking. */
  #claim: Claim | undefined;
  /** The number behind the last value to send, once that is known. */
  #until = Number.POSITIVE_INFINITY;

  /** @param from the number of the first value to send */
  constructor({ feeds, held }: OutputSource, id: string, from: number, sink: OutputSink) {
    this.#sink = sink;
    this.#held = held;
    this.#next = from;
    this.#following = feeds.follow(id, () => this.#wake());
  }

  /** The number of the next value to send. */
  get next(): number {
    return this.#next;
  }

  /** Sends what there is, and whatever comes. */
  start(): void {
    this.#refresh(() => this.#wake());
  }

  /** The reader can take more. */
  resume(): void {
    this.#blocked = false;
    this.#letGo();
    this.#wake();
  }

  /** Sends what there is by now, and ends. */
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

  /** Whether the process has room for the page while the reader takes it; if not, the pump goes on when it has. */
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
