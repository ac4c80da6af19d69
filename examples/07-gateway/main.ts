/** An API that serves one request at a time, behind a line: `npx tsx examples/07-gateway/main.ts`. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { defineGateway, start } from "paihao";

/** The existing API: slow, and too busy for a second caller. */
let busy = false;
const api = createServer(async (request, response) => {
  if (busy) return void response.writeHead(429).end("busy");
  busy = true;
  await sleep(50);
  busy = false;
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ report: request.url }));
}).listen(0, "127.0.0.1");
await once(api, "listening");
const target = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;

const reports = defineGateway({ queue: "reports", target, concurrency: 1 });
const server = await start({ handlers: [reports], port: 0, store: "embedded", logLevel: "warn" });

/** The status codes of five requests at once. */
async function fiveAtOnce(base: string): Promise<number[]> {
  const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => fetch(`${base}/reports/${n}`)));
  await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  return answers.map(({ status }) => status);
}

console.log("straight to the API  ", ...(await fiveAtOnce(target)));
console.log("through the gateway  ", ...(await fiveAtOnce(`${server.url}/v1/gateway/reports`)));

await server.stop();
api.close();
