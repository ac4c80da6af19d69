/** Koa as in echo.ts, with BullMQ's `queue.add` behind the route: the usual way to answer 202. */
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import Router from "@koa/router";
import { Queue } from "bullmq";
import rTracer from "cls-rtracer";
import Koa, { type Middleware } from "koa";
import getRawBody from "raw-body";

const queue = new Queue("bench", { connection: { host: "127.0.0.1", port: Number(process.argv[2]) } });
const app = new Koa();
app.use(rTracer.koaMiddleware({ requestIdFactory: () => randomUUID(), echoHeader: true }) as unknown as Middleware);
const router = new Router();
router.post("/v1/requests", async (ctx) => {
  const text = await getRawBody(ctx.req, { limit: "1mb", length: ctx.get("Content-Length"), encoding: "utf8" });
  const job = await queue.add("task", JSON.parse(text), { jobId: String(rTracer.id()) });
  ctx.status = 202;
  ctx.body = { id: job.id };
});
app.use(router.routes());
app.use(router.allowedMethods());
await queue.waitUntilReady();
const server = app.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
