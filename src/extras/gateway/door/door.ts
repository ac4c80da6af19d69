import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Context } from "koa";
import { watchedTasks } from "../../../engine/watch/watch.ts";
import { Watchers } from "../../../engine/watch/watchers.ts";
import { newKoa } from "../../../http/app.ts";
import type { Door as OpenDoor } from "../../../http/extension.ts";
import type { AnswerRequest } from "../../../http/middleware/request.ts";
import { hostOf, schemeOf, withoutPort } from "../../../http/request/forwarded.ts";
import { parsePrefer } from "../../../http/request/prefer.ts";
import { type Route, SUBMIT } from "../../../http/route.ts";
import { HttpServer } from "../../../http/server/server.ts";
import { GATEWAY_METHODS, isUnsafePath } from "../request.ts";
import { storeRequest, unsafePath } from "../routes.ts";
import { pathOf } from "./described.ts";
import { Holds } from "./hold.ts";
import { writeError } from "./openai.ts";
import { DoorRequest, DoorResponse, responseTo } from "./relay-request.ts";
import { type DoorParts, Visit } from "./visit.ts";

/** What a door needs. */
type Needed = Pick<DoorParts, "api" | "breakers" | "gateway" | "door"> & {
  /** What every request passes first, on an address. */
  answering(host: string, setting: string): AnswerRequest;
};

const DOOR_METHODS = [...GATEWAY_METHODS, "OPTIONS"] as const;

/**
 * A port of its own in front of an API that knows nothing of this server: each request takes a turn of the gateway's queue, and waits for it
 * as long as its caller does; then it is passed on, and the answer passed back.
 */
export function openDoor({ api, breakers, gateway, door, answering }: Needed): OpenDoor {
  const { queue } = gateway;
  const stopping = new AbortController();
  const closing = new AbortController();
  const parts: DoorParts = {
    ...{ api, breakers, gateway, door, stopping: stopping.signal, waiting: new Set(), served: new Set() },
    holds: new Holds(api.engine, api.engine.queues.settings(queue), api.log),
    watchers: new Watchers(watchedTasks(api.engine)),
  };
  const callAll = (these: ReadonlySet<() => void>) => {
    for (const call of [...these]) call();
  };
  stopping.signal.addEventListener("abort", () => callAll(parts.waiting));
  closing.signal.addEventListener("abort", () => callAll(parts.served));

  const host = door.host ?? api.host;
  const setting = `listen of the gateway ${queue}`;
  const answer = answering(host, setting);
  const upgrades = new WeakSet<IncomingMessage>();
  const routes = routesOf(parts);
  const app = newKoa(api);
  app.use((ctx) => {
    const isUpgrade = upgrades.has(ctx.req);
    const isStored = !isUpgrade && parsePrefer(ctx.get("Prefer")).respondAsync;
    ctx.state.route = isUpgrade ? routes.upgrade : isStored ? routes.stored : routes.turn;
    ctx.params = { queue };
    return answer(ctx, () => (isStored ? store(ctx, parts) : new Visit(ctx, parts, isUpgrade).serve()));
  });
  app.on("error", (error: unknown) => api.log.debug({ err: error }, "door: connection error"));
  const handle = app.callback();
  const server = new HttpServer(app, {
    ...{ host, port: door.port, log: api.log, stopping, closing, maxConnections: api.maxConnections },
    setting,
    // A body of any size may arrive, at any pace.
    limits: { requestMs: 0 },
    forwards: {
      Request: DoorRequest,
      Response: DoorResponse,
      upgrade: (request: IncomingMessage, socket: Socket, head: Buffer) => {
        if (head.length > 0) socket.unshift(head);
        upgrades.add(request);
        const response: ServerResponse = responseTo(request, socket);
        void handle(request, response);
      },
    },
  });
  const slots = gateway.concurrency.total ?? 1;
  const atOnce = slots === 1 ? "one request at a time" : `${slots} requests at a time`;
  return {
    server,
    describe: () => `${queue}: ${server.url} passes requests on to ${gateway.upstream.target.href}, ${atOnce}`,
  };
}

/** How every request sees the checks of a door. */
function routesOf({ gateway, door }: DoorParts): Readonly<Record<"turn" | "upgrade" | "stored", Route>> {
  const turn: Route = {
    ...{ name: "door", path: `door of ${gateway.queue}`, method: DOOR_METHODS, scopes: SUBMIT, forwards: true },
    ...{ submits: "under a new id", keyHeader: "x-api-key", run: () => undefined },
    ...(door.speaks === "openai" && { writeProblem: writeError }),
  };
  return {
    turn,
    // A page of another site could otherwise open one in the browser of a visitor.
    upgrade: { ...turn, effects: true },
    stored: { ...turn, submits: "under the caller's key", effects: true },
  };
}

/** Stores a request that is to be answered at once; its links lead to the server. */
async function store(ctx: Context, { api, gateway }: DoorParts): Promise<void> {
  const path = pathOf(ctx.req.url ?? "");
  if (isUnsafePath(path)) throw unsafePath();
  const host = withoutPort(hostOf(ctx));
  const shown = host.includes(":") ? `[${host}]` : host || "localhost";
  ctx.state.prefix = `${schemeOf(ctx)}://${shown}:${api.listeningPort()}${ctx.state.prefix}`;
  await storeRequest(ctx, api, gateway, path);
}
