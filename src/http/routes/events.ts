import type { Context } from "koa";
import type { Inspection } from "../../engine/inspect.ts";
import type { Watchers } from "../../engine/watching/watchers.ts";
import { PaihaoError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import type { Api } from "../api.ts";
import { versionId } from "../headers/etag.ts";
import { type EventStream, EventStreams, eventText } from "../live/event-streams.ts";
import type { Endpoints } from "../routes.ts";
import { signatureOf } from "../task/access.ts";
import { monitorDocument } from "../task/document.ts";
import { oneParameter, searchOf } from "../task/submit-options.ts";
import { observe } from "./monitor.ts";

/** The monitor as Server-Sent Events. */
export function eventEndpoints(api: Api, watchers: Watchers): Endpoints<"follow"> {
  const streams = new EventStreams(api.stopping);
  return { follow: (ctx) => events(ctx, api, watchers, streams) };
}

async function events(ctx: Context, api: Api, watchers: Watchers, streams: EventStreams): Promise<void> {
  const id: string = ctx.params.id ?? "";
  const known = ctx.get("Last-Event-ID") || oneParameter(searchOf(ctx), "lastEventId");
  const seen = await observe(ctx, api, id);
  if (isOutcome(seen.state) && known === versionId(seen)) {
    // The client has received the last event: 204 stops an EventSource from reconnecting (WHATWG HTML §9.2.3).
    ctx.status = 204;
    return;
  }
  if (ctx.method === "HEAD") {
    ctx.type = "text/event-stream";
    ctx.status = 200;
    return;
  }
  api.streams.add(ctx);
  const follower = new Follower({ state: ctx.state }, api, seen);
  const watched = await watchers.watch(id, (news) => follower.tell(news));
  if (ctx.res.destroyed) return watched.stop();
  ctx.respond = false;
  ctx.status = 200;
  follower.follow(
    streams.open(ctx.res, () => watched.stop()),
    watched.first,
  );
}

/** Turns the changes of one task into the events of one stream. */
class Follower {
  readonly #api: Api;
  /** Only the caller's state, not the whole request, since a stream may be open for hours. */
  readonly #ctx: Pick<Context, "state">;
  #stream: EventStream | undefined;
  /** The last event, so that the same is not sent twice. */
  #sent = "";
  readonly #createdMs: number;
  /** A change that arrived before the stream was open. */
  #early: Inspection | null | undefined;

  constructor(ctx: Pick<Context, "state">, api: Api, { createdMs }: Inspection) {
    this.#createdMs = createdMs;
    this.#api = api;
    this.#ctx = ctx;
  }

  /** Begins with the task as it was when the watch began, or as it has changed since. */
  follow(stream: EventStream, first: Inspection | null): void {
    this.#stream = stream;
    this.tell(this.#early === undefined ? first : this.#early);
  }

  /**
   * Sends the current state of the task; null if it no longer exists. Never throws: on an error the stream ends, and the client
   * reconnects.
   */
  tell(seen: Inspection | null): void {
    const stream = this.#stream;
    if (!stream) {
      this.#early = seen;
      return;
    }
    try {
      this.#send(stream, seen);
    } catch (error) {
      this.#fail(stream, error);
    }
  }

  #fail(stream: EventStream, error: unknown): void {
    this.#api.log.error({ err: error }, "events: could not describe the task; closing its stream");
    stream.end();
  }

  #send(stream: EventStream, seen: Inspection | null): void {
    // Gone, destroyed, or another task with the same id: a client that reconnects gets the right answer.
    if (!seen || seen.destroyed || seen.createdMs !== this.#createdMs) return stream.end();
    const version = versionId(seen);
    if (version === this.#sent) return;
    this.#sent = version;
    if (isOutcome(seen.state)) this.#finish(stream, seen.id, version);
    else stream.send(eventText({ name: "status", id: version, data: this.#documentOf(seen) }));
  }

  /**
   * Sends the last change as a normal event, and `done`. Only `done` has an id, so that a client that was disconnected between
   * the two gets both again.
   */
  #finish(stream: EventStream, id: string, version: string): void {
    observe(this.#ctx, this.#api, id)
      .then((seen) => {
        const data = this.#documentOf(seen);
        stream.end(eventText({ name: "status", data }) + eventText({ name: "done", id: version, data }));
      })
      .catch((error: unknown) => {
        // The store is unavailable, or the task was just destroyed: the client reconnects and gets the right answer.
        if (error instanceof PaihaoError) stream.end();
        else this.#fail(stream, error);
      });
  }

  #documentOf(seen: Inspection): string {
    const { attempts } = this.#api.engine.settings(seen.queue);
    return JSON.stringify(monitorDocument(seen, attempts, signatureOf(this.#ctx, seen)));
  }
}
