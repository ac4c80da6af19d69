/**
 * Koa as in echo.ts, with a BullMQ queue and its worker in one process: each request adds a job and is answered with its result by
 * `waitUntilFinished`, the usual way to wait for one.
 */
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import Router from "@koa/router";
import { Queue, QueueEvents, Worker } from "bullmq";
import rTracer from "cls-rtracer";
import Koa, { type Middleware } from "koa";
import getRawBody from "raw-body";
import { noop } from "../handlers/default.ts";

const [port, concurrency = 1] = process.argv.slice(2).map(Number);
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
const queue = new Queue("bench", { connection });
const events = new QueueEvents("bench", { connection });
// Each request listens for its own job, and for the end of the queue.
events.setMaxListeners(0);
queue.setMaxListeners(0);
const worker = new Worker("bench", async (job) => noop.run(job.data, undefined as never), {
  connection,
  concurrency,
});
const app = new Koa();
app.use(rTracer.koaMiddleware({ requestIdFactory: () => randomUUID(), echoHeader: true }) as unknown as Middleware);
const router = new Router();
router.post("/v1/requests", async (ctx) => {
  const text = await getRawBody(ctx.req, { limit: "1mb", length: ctx.get("Content-Length"), encoding: "utf8" });
  const job = await queue.add("task", JSON.parse(text), { jobId: String(rTracer.id()) });
  ctx.body = await job.waitUntilFinished(events);
  ctx.status = 200;
});
app.use(router.routes());
app.use(router.allowedMethods());
await Promise.all([queue.waitUntilReady(), events.waitUntilReady(), worker.waitUntilReady()]);
const server = app.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
