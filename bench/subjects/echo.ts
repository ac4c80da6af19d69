/**
 * The bare server that HTTP figures are compared with: Koa, its router, cls-rtracer and raw-body, as a task server would have
 * them, and a route that echoes its body. `direct` runs the handler before it answers.
 */
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import Router from "@koa/router";
import rTracer from "cls-rtracer";
import Koa, { type Middleware } from "koa";
import getRawBody from "raw-body";
import { noop } from "../handlers/default.ts";

const direct = process.argv[2] === "direct";
const app = new Koa();
app.use(rTracer.koaMiddleware({ requestIdFactory: () => randomUUID(), echoHeader: true }) as unknown as Middleware);
const router = new Router();
router.post("/v1/requests", async (ctx) => {
  const text = await getRawBody(ctx.req, { limit: "1mb", length: ctx.get("Content-Length"), encoding: "utf8" });
  const input: unknown = JSON.parse(text);
  // The no-op does not use its context.
  ctx.body = direct ? await noop.run(input, undefined as never) : input;
  ctx.status = direct ? 200 : 202;
});
app.use(router.routes());
app.use(router.allowedMethods());
const server = app.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
