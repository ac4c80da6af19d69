import type { Context } from "koa";
import { LONGEST_TIMER_MS } from "../../config/duration.ts";
import { ByteBudget } from "../../engine/calls/byte-budget.ts";
import { OutputFeeds } from "../../engine/watch/output.ts";
import type { Watch } from "../../engine/watch/watch.ts";
import type { Watchers } from "../../engine/watch/watchers.ts";
import { ProblemError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import { readParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { empty, headerRefs, schemaRef } from "../openapi/responses.ts";
import { accessOf, keepsPresent } from "../request/access.ts";
import { versionId } from "../request/etag.ts";
import { PARAMETERS, searchOf } from "../request/parameters.ts";
import { parsePrefer } from "../request/prefer.ts";
import { type Route, WATCH } from "../route.ts";
import { whenGone } from "../server/long-poll.ts";
import { whenClosed } from "../server/response.ts";
import { EVENTS, isAnsweredWithoutEvents, LINES, lastEventId } from "../server/streams.ts";
import { findTask, observe } from "../task/find.ts";
import { TASK_PATHS } from "../task/links.ts";
import { replyOutcome } from "../task/reply.ts";
import { taskEvents } from "./task-events.ts";
import { type FollowedTask, type OutputSource, outputLines } from "./task-output.ts";

/** What is sent of a task while it is pending: the monitor as Server-Sent Events, and its output. */
export function liveRoutes(api: Api, live: LiveTasks): readonly Route[] {
  return [
    {
      name: "follow",
      method: "GET",
      path: TASK_PATHS.events,
      scopes: WATCH,
      signedLink: "task",
      tag: "Watch",
      summary: "The monitor as Server-Sent Events",
      description:
        "`event: status` at once and on every change, `event: output` for each value that the handler writes, finally `event: done`. The data is the document of the monitor, that of `output` an OutputValue; in `done` it has the result (JSON below 20 kB) or the problem. To resume after an event, send its id as `Last-Event-ID`.",
      parameters: parameterRefs("Last-Event-ID", "lastEventId"),
      answers: {
        "200": { description: "Events until the task has ended.", content: { "text/event-stream": {} } },
        "204": empty("The caller has already received the last event."),
      },
      run: (ctx) => events(ctx, api, live),
    },
    {
      name: "output",
      method: "GET",
      path: TASK_PATHS.output,
      scopes: WATCH,
      signedLink: "task",
      tag: "Watch",
      summary: "What the handler writes while it runs",
      description:
        "A line for each value: those written so far, then new ones until the task ends. `Prefer: wait=N` ends the response after N seconds, `wait=0` after the values written so far. If a response breaks off, continue with `after`.",
      parameters: parameterRefs("after", "Prefer-wait"),
      answers: {
        "200": {
          description: "The values, in order.",
          headers: headerRefs("Preference-Applied"),
          content: { "application/x-ndjson": { schema: schemaRef("OutputValue") } },
        },
      },
      run: (ctx) => output(ctx, api, live),
    },
  ];
}

async function events(ctx: Context, api: Api, live: LiveTasks): Promise<void> {
  const known = lastEventId(ctx);
  const seen = await observe(ctx, api, ctx.params.id ?? "");
  if (isAnsweredWithoutEvents(ctx, isOutcome(seen.state) && known === versionId(seen))) return;
  api.streams.add(ctx);
  await live.followEvents(ctx, seen, known);
}

async function output(ctx: Context, api: Api, live: LiveTasks): Promise<void> {
  const id: string = ctx.params.id ?? "";
  const after = readParameter(searchOf(ctx), PARAMETERS.after);
  const seen = await findTask(ctx, api, id, { result: false });
  if (seen.state === "canceled" || seen.deleted || seen.expired) return replyOutcome(ctx, seen);
  const { wait, waitAsSent } = parsePrefer(ctx.get("Prefer"));
  if (ctx.method === "HEAD") {
    ctx.type = "application/x-ndjson";
    ctx.status = 200;
    return;
  }
  api.streams.add(ctx);
  if (waitAsSent !== undefined) ctx.set("Preference-Applied", waitAsSent);
  await live.followOutput(ctx, seen, after === null ? 0 : after + 1, wait === undefined ? undefined : wait * 1000);
}

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
