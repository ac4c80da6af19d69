import type { Context } from "koa";
import { LONGEST_TIMER_MS } from "../../config/duration.ts";
import { ByteBudget } from "../../engine/calls/byte-budget.ts";
import { OutputFeeds } from "../../engine/watch/output.ts";
import type { Watch } from "../../engine/watch/watch.ts";
import type { Watchers } from "../../engine/watch/watchers.ts";
import { ProblemError } from "../../errors.ts";
import type { Api } from "../api.ts";
import { whenClosed } from "../server/response.ts";
import { accessOf, keepsPresent } from "../task/access.ts";
import { whenGone } from "./long-poll.ts";
import type { FollowedTask, OutputSource } from "./output-reader.ts";
import { EVENTS, LINES } from "./streams.ts";
import { taskEvents } from "./task-events.ts";
import { outputLines } from "./task-output.ts";

/** The maximum number of characters of long pages that wait for readers in this process, over all readers. */
const MAX_HELD = 64 * 1024 ** 2;

/** Everything that is sent about tasks while they are pending. */
export class LiveTasks {
  readonly #api: Api;
  readonly #watchers: Watchers;
  readonly #source: OutputSource;

  constructor(api: Api, watchers: Watchers) {
    this.#api = api;
    this.#watchers = watchers;
    const onError = (error: unknown) =>
      api.log.debug({ err: error }, "output: could not read what tasks have written; trying again later");
    this.#source = { feeds: new OutputFeeds(api.engine.outputs), held: new ByteBudget(MAX_HELD), onError };
  }

  /**
   * Answers with the events of a task, after the last one that the client has.
   * @throws ProblemError store-unavailable
   */
  async followEvents(ctx: Context, task: FollowedTask, known: string): Promise<void> {
    this.#sendEvents(ctx, task, known, await this.#watch(ctx, task));
  }

  /** The same for a task that was just submitted: the head is sent at once, and a later failure ends the stream. */
  beginEvents(ctx: Context, task: FollowedTask): void {
    this.#sendEvents(ctx, task, "");
  }

  #sendEvents(ctx: Context, task: FollowedTask, known: string, first?: Watch): void {
    const { state, res } = ctx;
    let watch = first;
    const begin = async () => {
      watch ??= await this.#watch(ctx, task);
      if (res.destroyed) watch.stop();
      return watch;
    };
    // Only the caller's state, not the whole request, since a stream may be open for hours.
    const parts = taskEvents({ ctx: { state }, api: this.#api, source: this.#source, task, known, begin });
    this.#api.streams.send(ctx, EVENTS, {
      // The caller has gone: a watch would count as its look.
      parts: res.destroyed ? nothing() : parts,
      onClose: () => watch?.stop(),
      onError: (error) => {
        if (!(error instanceof ProblemError))
          this.#api.log.error({ err: error }, "events: could not describe the task; closing its stream");
      },
    });
  }

  /**
   * Answers with the output of a task as lines of JSON.
   * @param from the number of the first value
   * @param ms after this time it ends, once the values that exist then are sent; undefined: with the task
   * @throws ProblemError store-unavailable
   */
  async followOutput(ctx: Context, task: FollowedTask, from: number, ms?: number): Promise<void> {
    const watch = await this.#watch(ctx, task);
    const limit = { isOver: false };
    const finish = () => {
      limit.isOver = true;
      watch.wake();
    };
    if (ms !== undefined) {
      const timer = setTimeout(finish, Math.min(ms, LONGEST_TIMER_MS));
      whenClosed(ctx.res, () => clearTimeout(timer));
      whenGone(ctx, this.#api, finish);
    }
    if (ms === 0) finish();
    this.#api.streams.send(ctx, LINES, {
      parts: outputLines({ source: this.#source, watch, task, from, limit }),
      onClose: watch.stop,
      // One with a time limit goes on until then.
      ...(ms !== undefined && { onStop: () => undefined }),
    });
  }

  #watch(ctx: Context, task: FollowedTask): Promise<Watch> {
    return this.#watchers.watch(task, { keeps: keepsPresent(accessOf(ctx), task), output: true });
  }
}

async function* nothing(): AsyncGenerator<string, void, void> {}
