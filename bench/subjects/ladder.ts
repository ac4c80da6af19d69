/**
 * Servers that each do one thing more than the one before, to see what each thing costs: `ladder RUNG`. The last rung answers
 * with the headers and the length of body of a real 202, without having done anything for it.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Router from "@koa/router";
import rTracer from "cls-rtracer";
import Koa, { type Middleware } from "koa";
import getRawBody from "raw-body";
import { RUNGS, type Rung } from "../harness/rungs.ts";

const rung = process.argv[2] as Rung;
const has = (other: Rung) => RUNGS.indexOf(rung) >= RUNGS.indexOf(other);
const ID = randomUUID();

function answer(): string {
  const link = (rel: string, path: string, method: string) => ({ rel, href: `/v1/requests/${ID}${path}`, method });
  const links = [link("self", "", "GET"), link("monitor", "/status", "GET"), link("cancel", "", "DELETE")];
  return JSON.stringify({
    ...links[0],
    index: 12_345,
    id: ID,
    queue: "default",
    state: "waiting",
    eta: null,
    links,
  });
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
  const app = new Koa();
  if (has("cls-rtracer")) {
    const options = { requestIdFactory: () => randomUUID(), echoHeader: true };
    app.use(rTracer.koaMiddleware(options) as unknown as Middleware);
  }
  const handle: Middleware = async (ctx) => {
    let input: unknown = {};
    if (has("body")) {
      const text = await getRawBody(ctx.req, { limit: "1mb", length: ctx.get("Content-Length"), encoding: "utf8" });
      input = JSON.parse(text);
    } else {
      ctx.req.resume();
    }
    if (has("reply")) {
      ctx.set("Location", `/v1/requests/${ID}`);
      ctx.set("Operation-Location", `http://${ctx.host}/v1/requests/${ID}/status`);
      ctx.set("Link", `</v1/requests/${ID}/status>; rel="monitor"`);
      ctx.set("Retry-After", "2");
      ctx.set("X-Task-State", "waiting");
      ctx.set("X-Queue-Index", "12345");
      ctx.set("Cache-Control", "no-store");
      ctx.set("Preference-Applied", "respond-async");
      ctx.type = "application/json";
      ctx.body = answer();
    } else {
      ctx.body = input;
    }
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
  return createServer(app.callback());
}

const server = has("Koa") ? listenKoa() : listenPlain();
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
