/**
 * Servers that each do one thing more than the one before, to see what each thing costs: `ladder RUNG [USUAL]`. The last one
 * answers with the headers and body length of a real 202, without any work for it; with USUAL one thing is done in the usual
 * way instead of ours.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Router from "@koa/router";
import rTracer from "cls-rtracer";
import Koa, { type Context, type Middleware } from "koa";
import getRawBody from "raw-body";
import { built } from "../harness/built.ts";
import { RUNGS, type Rung, type Usual } from "../harness/rungs.ts";

const { Application } =
  await built<typeof import("../../src/http/server/application.ts")>("http/server/application.js");
const { isShort } = await built<typeof import("../../src/http/server/request.ts")>("http/server/request.js");
const { respond, responseOf } =
  await built<typeof import("../../src/http/server/response.ts")>("http/server/response.js");
const { readBytes } = await built<typeof import("../../src/http/input/body.ts")>("http/input/body.js");
const { pendingLinks, pendingLinksJson, taskPaths } =
  await built<typeof import("../../src/http/task/links.ts")>("http/task/links.js");

const [rung, usual] = process.argv.slice(2) as [Rung, Usual | undefined];
const has = (other: Rung) => RUNGS.indexOf(rung) >= RUNGS.indexOf(other);
const LIMIT = 1024 ** 2;
const ID = randomUUID();
const SELF = `/v1/requests/${ID}`;

const fields = (host: string): string[] => [
  ...["Location", SELF, "Operation-Location", `http://${host}${SELF}/status`],
  ...["Link", `<${SELF}/status>; rel="monitor", <${SELF}/events>; rel="alternate"; type="text/event-stream"`],
  ...["Retry-After", "2", "X-Task-State", "waiting", "Cache-Control", "no-store", "X-Queue-Index", "12345"],
  ...["Preference-Applied", "respond-async", "Vary", "Prefer", "Content-Type", "application/json; charset=utf-8"],
];

function answerAtOnce(ctx: Context): void {
  const task = `"index":12345,"id":"${ID}","queue":"default","state":"waiting","eta":null`;
  const body = `{"rel":"self","href":"${SELF}","method":"GET",${task},"links":${pendingLinksJson(taskPaths(ID, ""))}}`;
  const response = responseOf(ctx);
  const list = fields(ctx.host);
  for (let i = 0; i < list.length; i += 2) response.addHeader(list[i] ?? "", list[i + 1] ?? "");
  response.answer(ctx, 202, body);
}

function answerAsUsual(ctx: Context): void {
  const list = fields(ctx.host);
  for (let i = 0; i < list.length; i += 2) ctx.set(list[i] ?? "", list[i + 1] ?? "");
  const task = { index: 12_345, id: ID, queue: "default", state: "waiting", eta: null };
  ctx.status = 202;
  ctx.body = JSON.stringify({ rel: "self", href: SELF, method: "GET", ...task, links: pendingLinks(ID) });
}

async function bodyOf(ctx: Context): Promise<string> {
  if (usual === "raw-body") {
    return getRawBody(ctx.req, { limit: LIMIT, length: ctx.get("Content-Length"), encoding: "utf8" });
  }
  return (await readBytes(ctx.req, LIMIT)).toString("utf8");
}

function correlate(): Middleware {
  if (usual === "cls-rtracer's middleware") {
    const options = { requestIdFactory: () => randomUUID(), echoHeader: true };
    return rTracer.koaMiddleware(options) as unknown as Middleware;
  }
  return (ctx, next) => {
    const id = randomUUID();
    responseOf(ctx).addHeader("X-Request-Id", id);
    return rTracer.runWithId(next, id);
  };
}

function listenPlain() {
  return createServer((req, res) => {
    req.resume();
    req.on("end", () => {
      res.writeHead(202, { "Content-Type": "application/json", "Content-Length": 2 });
      res.end("{}");
    });
  });
}

function listenKoa() {
  const app = usual === "Koa's listeners on every response" ? new Koa() : new Application();
  app.use(respond(new AbortController().signal));
  if (has("correlation")) app.use(correlate());
  const handle: Middleware = async (ctx) => {
    let input: unknown = {};
    if (has("body")) input = JSON.parse(await bodyOf(ctx));
    else ctx.req.resume();
    if (has("reply")) return usual === "ctx.set and JSON.stringify" ? answerAsUsual(ctx) : answerAtOnce(ctx);
    ctx.body = input;
    ctx.status = 202;
  };
  if (has("router")) {
    const router = new Router();
    router.post("/v1/requests", handle);
    app.use(router.routes());
    app.use(router.allowedMethods());
  } else {
    app.use(handle);
  }
  const callback = app.callback();
  return createServer((req, res) => {
    if (has("body") && isShort(req)) process.nextTick(callback, req, res);
    else void callback(req, res);
  });
}

const server = has("Koa") ? listenKoa() : listenPlain();
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
