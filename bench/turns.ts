import http from "node:http";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { ROOT } from "../test/shared/root.ts";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { milliseconds } from "./harness/judge.ts";
import { type ServerSubject, startPaihao } from "./harness/process.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns, percentile } from "./harness/turns.ts";

/** How often one who waits for a lock asks for it, ms. */
const POLL_MS = 100;
/** How long a lock is held at most, ms. */
const LOCK_MS = 30_000;
/** How many wait while nobody looks. */
const WAITING = 1000;
/** How long a server has nothing to do before its CPU is measured, ms. */
const SETTLE_MS = 10_000;

/** How long it takes from the end of one turn until the next one in line knows, and what a line costs in which nothing happens. */
export const turns: Bench = {
  name: "turns",
  title: "Turns: from the end of one to the notice of the next",
  async run(options) {
    const figures = await withEachStore((store) => measure(store, options));
    return {
      figures: figures.flat(),
      notes: [
        `Redlock style: who waits tries \`SET key value NX PX ${LOCK_MS}\` every ${POLL_MS} ms on the same Redis; a script deletes the key.`,
        "Of turns the time counts from when `POST …/done` is sent until the answer, or the event, of the next one has arrived.",
      ],
    };
  },
};

async function measure(store: BenchStore, options: BenchOptions): Promise<Figure[]> {
  options.say(`store: ${store.mode}`);
  const server = await startPaihao({ REDIS_URL: store.url, HANDLERS: path.join(ROOT, "bench/handlers/turns") });
  const lock = await openLock(store.url);
  const count = options.quick ? 30 : 100;
  const many = (once: () => Promise<number>) => async () => {
    const samples: number[] = [];
    while (samples.length < count) samples.push(await once());
    return samples;
  };
  try {
    const measured = await inTurns(options.pairs, {
      sync: many(() => answered(server)),
      events: many(() => streamed(server)),
      lock: many(() => lock.handedOver()),
    });
    const [answer, event, polled] = [measured.sync.flat(), measured.events.flat(), measured.lock.flat()];
    const figure = (what: string, ours: number[], share: number, atMost: number): Figure => ({
      figure: `${what}, p${100 * share}`,
      against: `a lock polled every ${POLL_MS} ms`,
      store: store.mode,
      ours: milliseconds(percentile(ours, share)),
      theirs: milliseconds(percentile(polled, share)),
      value: percentile(ours, share),
      unit: "ms",
      target: { atMost },
    });
    return [
      figure("from done to the next answer", answer, 0.5, 3),
      figure("from done to the next answer", answer, 0.99, 20),
      figure("from done to the next event", event, 0.5, 3),
      figure("from done to the next event", event, 0.99, 20),
      await idleCpu(server, store, options),
    ];
  } finally {
    lock.close();
    await server.stop();
  }
}

/** Somebody holds the turn, and another one waits for the answer to a submission. */
async function answered(server: ServerSubject): Promise<number> {
  const holder = await submit(server);
  const waiting = send(server, "POST", "/v1/queues/gpu/requests");
  while ((await send(server, "GET", "/v1/queues/gpu")).waiting !== 1) await delay(1);
  const began = performance.now();
  const ended = done(server, holder);
  const called = await waiting;
  const tookMs = performance.now() - began;
  await ended;
  await done(server, called.id);
  return tookMs;
}

/** Somebody holds the turn, and another one follows the event stream of theirs. */
async function streamed(server: ServerSubject): Promise<number> {
  const holder = await submit(server);
  const id = await submit(server);
  const stream = await follow(server, id);
  await stream.until('"state":"waiting"');
  const began = performance.now();
  const ended = done(server, holder);
  await stream.until('"state":"running"');
  const tookMs = performance.now() - began;
  await ended;
  await done(server, id);
  stream.close();
  return tookMs;
}

/** The CPU of a server while many wait and nobody asks, as a share of one core. */
async function idleCpu(server: ServerSubject, store: BenchStore, options: BenchOptions): Promise<Figure> {
  options.say(`${WAITING} wait`);
  const lines = Array.from({ length: WAITING + 1 }, () => "1\n").join("");
  const headers = { "Content-Type": "application/x-ndjson" };
  await send(server, "POST", "/v1/queues/gpu/batches?presence=1h", headers, lines);
  await delay(SETTLE_MS);
  const { waiting, running } = await send(server, "GET", "/v1/queues/gpu");
  if (waiting !== WAITING || running !== 1) throw new Error(`${waiting} wait, ${running} run`);
  const seconds = options.quick ? 10 : 30;
  const before = server.cpuSeconds();
  await delay(seconds * 1000);
  const value = (100 * (server.cpuSeconds() - before)) / seconds;
  await store.clear();
  return {
    ...{ figure: `CPU while ${WAITING} wait and nobody asks`, against: "–", store: store.mode, theirs: "", value },
    ...{ ours: `${value.toFixed(2)} % of a core`, unit: "%", target: { atMost: 2 } },
  };
}

const agent = new http.Agent({ keepAlive: true });

async function submit(server: ServerSubject): Promise<string> {
  return (await send(server, "POST", "/v1/queues/gpu/requests", { Prefer: "respond-async" })).id;
}

const done = (server: ServerSubject, id: string) => send(server, "POST", `/v1/requests/${id}/done`);

function request(server: ServerSubject, method: string, at: string, headers: http.OutgoingHttpHeaders, body = "") {
  return new Promise<http.IncomingMessage>((resolve, reject) => {
    const length = method === "GET" ? {} : { "Content-Length": Buffer.byteLength(body) };
    const sent = http.request({ port: server.port, agent, method, path: at, headers: { ...headers, ...length } });
    sent.once("response", resolve).once("error", reject);
    sent.end(body);
  });
}

/** @throws Error if the server refuses it */
async function send(
  server: ServerSubject,
  method: string,
  at: string,
  headers: http.OutgoingHttpHeaders = {},
  body = "",
): Promise<{ readonly id: string; readonly waiting?: number; readonly running?: number }> {
  const response = await request(server, method, at, headers, body);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  if ((response.statusCode ?? 0) >= 300) throw new Error(`${method} ${at}: ${response.statusCode} ${text}`);
  // The answer to a batch has a line for each task.
  return JSON.parse(text.slice(0, text.indexOf("\n") + 1) || text);
}

/** Opens the event stream of a task. */
async function follow(server: ServerSubject, id: string) {
  const response = await request(server, "GET", `/v1/requests/${id}/events`, { Accept: "text/event-stream" });
  let text = "";
  let wake: () => void = () => undefined;
  response.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    wake();
  });
  response.on("error", () => undefined);
  return {
    async until(words: string): Promise<void> {
      while (!text.includes(words)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    close: () => response.destroy(),
  };
}

/** Deletes a lock that is still its holder's. */
const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/** A lock as Redlock has it, on one Redis. */
async function openLock(url: string) {
  const [holder, other] = [new Redis(url), new Redis(url)];
  return {
    async handedOver(): Promise<number> {
      await holder.set("lock", "holder", "PX", LOCK_MS, "NX");
      const gets = (async () => {
        while ((await other.set("lock", "other", "PX", LOCK_MS, "NX")) === null) await delay(POLL_MS);
        return performance.now();
      })();
      // At any time between two polls.
      await delay(POLL_MS * (0.5 + Math.random()));
      const releasedAt = performance.now();
      await holder.eval(RELEASE, 1, "lock", "holder");
      const gotAt = await gets;
      await other.eval(RELEASE, 1, "lock", "other");
      return gotAt - releasedAt;
    },
    close() {
      holder.disconnect();
      other.disconnect();
    },
  };
}
