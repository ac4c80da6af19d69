import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "koa";
import type { KeptEvent } from "../../engine/monitoring/events.ts";
import { timestamp } from "../../wire/document.ts";
import type { DeploymentEvent, DeploymentEvents } from "../../wire/operations.ts";
import { oneParameter, readParameter, wrongParameter } from "../../wire/request.ts";
import type { Api } from "../api.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { json } from "../openapi/responses.ts";
import { prefersEvents } from "../request/accept.ts";
import { PARAMETERS, searchOf } from "../request/parameters.ts";
import { READ, type Route } from "../route.ts";
import { EVENTS, eventText, isAnsweredWithoutEvents, lastEventId } from "../server/streams.ts";

/** The ids of events: when, ms, a hyphen, a number. */
const ID = /^\d{1,15}-\d{1,10}$/;

/** As many as are kept. */
const MAX_EVENTS = 1000;

/** What happened to the deployment. */
export function deploymentEventRoutes(api: Api): readonly Route[] {
  const feed = eventFeed(
    (from) => readAfter(api, from),
    (error) => api.log.debug({ err: error }, "events: could not read what happened; trying again later"),
  );
  return [
    {
      name: "events",
      method: "GET",
      path: "/v1/events",
      scopes: READ,
      tag: "Operations",
      summary: "What happened to the deployment: the latest 1,000 events, newest first",
      description:
        "If `Accept` prefers text/event-stream: `event: event` for each of the latest, oldest first, then for each as it happens; after `Last-Event-ID` only those behind it.",
      parameters: parameterRefs("limit", "cursor", "Last-Event-ID", "lastEventId"),
      answers: {
        "200": {
          ...json("A page, newest first.", "DeploymentEvents"),
          content: { ...json("", "DeploymentEvents").content, "text/event-stream": {} },
        },
      },
      run: (ctx) => (prefersEvents(ctx.get("Accept")) ? follow(ctx, api, feed) : list(ctx, api)),
    },
  ];
}

async function list(ctx: Context, { engine }: Api): Promise<void> {
  ctx.vary("Accept");
  const search = searchOf(ctx);
  const limit = readParameter(search, PARAMETERS.limit);
  const before = oneParameter(search, "cursor");
  if (before !== null && !ID.test(before)) throw wrongParameter("cursor", "expected the `next` of another page");
  const events = await engine.events.latest(limit + 1, before ?? undefined);
  const page = events.slice(0, limit);
  const next = events.length > limit ? (page.at(-1)?.id ?? null) : null;
  ctx.body = { items: page.map(documentOf), next } satisfies DeploymentEvents;
}

async function follow(ctx: Context, api: Api, feed: EventFeed): Promise<void> {
  ctx.vary("Accept");
  const known = lastEventId(ctx);
  if (known !== "" && !ID.test(known)) throw wrongParameter("lastEventId", "expected the id of an event");
  const limit = readParameter(searchOf(ctx), PARAMETERS.limit);
  if (isAnsweredWithoutEvents(ctx, false)) return;
  api.streams.add(ctx);
  const first = known === "" ? (await api.engine.events.latest(limit)).reverse() : await readAfter(api, known);
  api.streams.send(ctx, EVENTS, { parts: eventsAfter(ctx.res, feed, known || "0-0", first) });
}

const readAfter = ({ engine }: Api, from: string) => engine.events.after(from, MAX_EVENTS);

/** The first events, then others as they happen, until nobody reads them any more. */
async function* eventsAfter(res: ServerResponse, feed: EventFeed, known: string, first: readonly KeptEvent[]) {
  let from = known;
  for (let events = first; !res.destroyed; events = await feed(from)) {
    from = events.at(-1)?.id ?? from;
    if (events.length > 0) yield events.map(textOf).join("");
  }
}

function textOf(event: KeptEvent): string {
  return eventText({ name: "event", id: event.id, data: JSON.stringify(documentOf(event)) });
}

function documentOf({ id: _, atMs, ...event }: KeptEvent): DeploymentEvent {
  return { at: timestamp(atMs), ...event };
}

/** How often new events are read while somebody follows them, ms. */
const READ_MS = 1000;

/** Waits a moment, then reads the events after one, perhaps none: once for all who ask for the same. Never rejects. */
type EventFeed = (from: string) => Promise<readonly KeptEvent[]>;

/** @param onError called for failed reads, which followers repeat */
function eventFeed(read: EventFeed, onError: (error: unknown) => void): EventFeed {
  const reading = new Map<string, ReturnType<EventFeed>>();
  const readLater = async (from: string) => {
    await delay(READ_MS, undefined, { ref: false });
    // What happens during the read is for the next one.
    reading.delete(from);
    try {
      return await read(from);
    } catch (error) {
      onError(error);
      return [];
    }
  };
  return (from) => {
    const known = reading.get(from) ?? readLater(from);
    reading.set(from, known);
    return known;
  };
}
