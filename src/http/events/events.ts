import type { Context } from "koa";
import type { KeptEvent } from "../../engine/monitoring/events.ts";
import type { DeploymentEvent, DeploymentEvents } from "../../wire/event.ts";
import { oneParameter, readParameter, wrongParameter } from "../../wire/parameter.ts";
import { timestamp } from "../../wire/timestamp.ts";
import type { Api } from "../api.ts";
import { prefersEvents } from "../headers/accept.ts";
import { PARAMETERS, searchOf } from "../input/parameters.ts";
import { EventStreams, eventText } from "../live/event-streams.ts";
import { isAnsweredWithoutEvents, lastEventId } from "../live/last-event.ts";
import { parameterRefs } from "../openapi/parameters.ts";
import { json } from "../openapi/responses.ts";
import { READ, type Route } from "../route.ts";
import { handOver } from "../server/response.ts";
import { EventFeed } from "./event-feed.ts";

/** The ids of events: when, ms, a hyphen, a number. */
const ID = /^\d{1,15}-\d{1,10}$/;

/** What happened to the deployment. */
export function deploymentEventRoutes(api: Api): readonly Route[] {
  const streams = new EventStreams(api.stopping);
  const feed = new EventFeed(api.engine.events, (error) =>
    api.log.debug({ err: error }, "events: could not read what happened; trying again later"),
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
      run: (ctx) => (prefersEvents(ctx.get("Accept")) ? follow(ctx, api, streams, feed) : list(ctx, api)),
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

async function follow(ctx: Context, api: Api, streams: EventStreams, feed: EventFeed): Promise<void> {
  ctx.vary("Accept");
  const known = lastEventId(ctx);
  if (known !== "" && !ID.test(known)) throw wrongParameter("lastEventId", "expected the id of an event");
  const limit = readParameter(searchOf(ctx), PARAMETERS.limit);
  if (isAnsweredWithoutEvents(ctx, false)) return;
  api.streams.add(ctx);
  const first = known === "" ? (await api.engine.events.latest(limit)).reverse() : [];
  const from = known || (first.at(-1)?.id ?? "0-0");
  let stop = () => {};
  const stream = streams.open(handOver(ctx), { close: () => stop() });
  const send = (events: readonly KeptEvent[]) => {
    for (const event of events)
      stream.push(eventText({ name: "event", id: event.id, data: JSON.stringify(documentOf(event)) }));
  };
  send(first);
  stop = feed.follow(from, send);
}

function documentOf({ id: _, atMs, ...event }: KeptEvent): DeploymentEvent {
  return { at: timestamp(atMs), ...event };
}
