import type { Context } from "koa";
import { ByteBudget } from "../../engine/large-values/byte-budget.ts";
import type { Inspection } from "../../engine/reading/inspect.ts";
import { OutputFeeds } from "../../engine/watching/output-feeds.ts";
import type { Watch, Watchers, WatchListener } from "../../engine/watching/watchers.ts";
import type { Api } from "../api.ts";
import { handOver } from "../server/response.ts";
import { accessOf, keepsPresent } from "../task/access.ts";
import { EventStreams } from "./event-streams.ts";
import type { FollowedTask, OutputSource } from "./output-pump.ts";
import { type OutputReader, OutputReaders } from "./output-readers.ts";
import { TaskEvents } from "./task-events.ts";

/** The maximum number of characters of long pages that wait for readers in this process, over all readers. */
const MAX_HELD = 64 * 1024 ** 2;

/** Everything that is sent about tasks while they are pending. */
export class LiveTasks {
  readonly #api: Api;
  readonly #watchers: Watchers;
  readonly #source: OutputSource;
  readonly #streams: EventStreams;
  readonly #readers: OutputReaders;

  constructor(api: Api, watchers: Watchers) {
    this.#api = api;
    this.#watchers = watchers;
    const feeds = new OutputFeeds(api.engine, {
      onError: (error) =>
        api.log.debug({ err: error }, "output: could not read what tasks have written; trying again later"),
    });
    this.#source = { feeds, held: new ByteBudget(MAX_HELD) };
    this.#streams = new EventStreams(api.stopping);
    this.#readers = new OutputReaders(api.stopping);
  }

  /**
   * Answers with the events of a task, after the last one that the client has.
   * @throws ProblemError store-unavailable
   */
  async followEvents(ctx: Context, task: FollowedTask, known: string): Promise<void> {
    const events = this.#eventsOf(ctx, task, known);
    const watched = await this.#watch(ctx, task, (seen) => events.tell(seen)).catch((error: unknown) => {
      events.stop();
      throw error;
    });
    events.open(this.#streams, handOver(ctx), () => watched.stop());
    events.begin(watched.first);
  }

  /** The same for a task that was just submitted: the head is sent at once, and a later failure ends the stream. */
  beginEvents(ctx: Context, task: FollowedTask): void {
    const events = this.#eventsOf(ctx, task, "");
    let stop: (() => void) | undefined;
    let closed = false;
    events.open(this.#streams, handOver(ctx), () => {
      closed = true;
      stop?.();
    });
    // The caller has gone: a watch would count as its look.
    if (closed) return;
    this.#watch(ctx, task, (seen) => events.tell(seen)).then(
      (watched) => {
        stop = watched.stop;
        if (closed) stop();
        else events.begin(watched.first);
      },
      (error: unknown) => events.fail(error),
    );
  }

  /**
   * Answers with the output of a task as lines of JSON.
   * @param from the number of the first value
   * @throws ProblemError store-unavailable
   */
  async followOutput(ctx: Context, task: FollowedTask, from: number): Promise<OutputReader> {
    let reader: OutputReader | undefined;
    let early: Inspection | null | undefined;
    const watched = await this.#watch(ctx, task, (seen) => {
      if (reader) reader.tell(seen);
      else early = seen;
    });
    reader = this.#readers.open(handOver(ctx), {
      task,
      from,
      source: this.#source,
      onClose: watched.stop,
    });
    reader.tell(early === undefined ? watched.first : early);
    return reader;
  }

  #eventsOf(ctx: Context, task: FollowedTask, known: string): TaskEvents {
    // Only the caller's state, not the whole request, since a stream may be open for hours.
    return new TaskEvents({ ctx: { state: ctx.state }, api: this.#api, source: this.#source, task, known });
  }

  #watch(ctx: Context, task: FollowedTask, listener: WatchListener): Promise<Watch> {
    return this.#watchers.watch(task, listener, keepsPresent(accessOf(ctx), task));
  }
}
