import type { ByteBudget, Claim } from "../../engine/calls/byte-budget.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { OutputFeed, OutputFeeds, OutputPage } from "../../engine/watch/output.ts";
import type { Watch } from "../../engine/watch/watch.ts";
import { ProblemError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";

/** A followed task. Its creation time tells it from a later task with the same id. */
export type FollowedTask = Pick<Inspection, "id" | "queue" | "caller" | "createdMs">;

/** A page of up to this many characters is sent without asking for room: the number of connections limits how much these hold. */
const SHORT_PAGE = 64 * 1024;

/** What all readers of outputs share. */
export interface OutputSource {
  readonly feeds: OutputFeeds;
  /** How many characters of long pages this process holds until their readers have read them. */
  readonly held: ByteBudget;
  /** Called for failed reads, which are repeated later. */
  onError(error: unknown): void;
}

/** What the output of a task is read from. */
interface OutputParts {
  readonly source: OutputSource;
  readonly watch: Watch;
  readonly task: FollowedTask;
  /** The number of the first value. */
  readonly from: number;
  /** Whether it ends now, with the values that exist, although the task goes on. */
  readonly limit: { readonly isOver: boolean };
}

/** The output of one task as lines of JSON, until it ends. @throws ProblemError store-unavailable; unknown if the task no longer exists */
export async function* outputLines(parts: OutputParts): AsyncGenerator<string, void, void> {
  const { source, watch, task, from, limit } = parts;
  const reader = new OutputReader(source, watch, task, from);
  try {
    do {
      const { seen } = watch;
      // The task is unknown, deleted, or another one with the same id: a client that asks again gets the right answer.
      if (!seen || seen.deleted || seen.createdMs !== task.createdMs) throw new ProblemError("unknown");
      if (limit.isOver || isOutcome(seen.state)) {
        for await (const page of reader.rest()) yield page.textOf("lines", lines);
        return;
      }
      const page = await reader.page();
      if (page) {
        yield page.textOf("lines", lines);
        watch.wake();
      }
    } while (await watch.next());
  } finally {
    reader.stop();
  }
}

function lines(values: readonly string[]): string {
  return `${values.join("\n")}\n`;
}

/** Reads the output of a task for one client, a page at a time, as fast as the client reads. */
export class OutputReader {
  /** The number of the next value. */
  next: number;
  readonly #source: OutputSource;
  readonly #watch: Pick<Watch, "outputs" | "next" | "wake">;
  readonly #feed: OutputFeed;
  /** The news as of which there were no further values. */
  #emptyAsOf = -1;
  /** The number after that of the last value, once known. */
  #until = Number.POSITIVE_INFINITY;
  /** The room for the page that the client reads now or next. */
  #claim: Claim | undefined;

  constructor(source: OutputSource, watch: Pick<Watch, "outputs" | "next" | "wake">, task: FollowedTask, from: number) {
    this.#source = source;
    this.#watch = watch;
    this.#feed = source.feeds.open(task);
    this.next = from;
  }

  /** The next values, once the client has read those before; undefined if there are none now. */
  async page(): Promise<OutputPage | undefined> {
    this.#letGo();
    const { outputs } = this.#watch;
    if (this.#emptyAsOf >= outputs) return undefined;
    try {
      const page = await this.#take(outputs);
      if (page === undefined) this.#emptyAsOf = outputs;
      return page;
    } catch (error) {
      this.#source.onError(error);
      this.#emptyAsOf = outputs;
      return undefined;
    }
  }

  /** The pages of the values that exist now. @throws ProblemError store-unavailable */
  async *rest(): AsyncGenerator<OutputPage, void, void> {
    this.#until = (await this.#feed.read(this.next)).total;
    for (;;) {
      this.#letGo();
      const page = this.next < this.#until ? await this.#take() : undefined;
      if (page === undefined) return;
      yield page;
    }
  }

  /** Call it once, when nothing more is read. */
  stop(): void {
    this.#letGo();
    this.#feed.leave();
  }

  /** Waits until the process has room for the next page while the client reads it; meanwhile it keeps none. */
  async #take(news?: number): Promise<OutputPage | undefined> {
    for (;;) {
      const read = this.#feed.page(this.next, news);
      const page = read instanceof Promise ? await read : read;
      const { values, length } = page;
      if (values.length === 0) {
        // What was heard while it waited for room is to be looked at.
        if (this.#claim) this.#watch.wake();
        return undefined;
      }
      if (length > SHORT_PAGE) this.#claim ??= this.#source.held.claim(length, () => this.#watch.wake());
      if (this.#claim?.granted ?? true) {
        this.next += values.length;
        return page;
      }
      if (!(await this.#watch.next())) return undefined;
    }
  }

  #letGo(): void {
    this.#claim?.release();
    this.#claim = undefined;
  }
}
