import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PaihaoClient } from "../../client/client.ts";
import { readConfig } from "../../config/config.ts";
import { createLog } from "../../log.ts";
import { start } from "../../server.ts";
import { provisionStore } from "../../store/servers/provision.ts";
import { note } from "../terminal/print.ts";

const HANDLERS = path.join(import.meta.dirname, "handlers");
/** How long a worker that was killed is away, ms. */
const AWAY_MS = 10_000;

/**
 * Runs an API on an embedded store, two workers of which one is killed again and again, and traffic, until SIGINT or SIGTERM. Settings of the
 * environment do not count.
 * @throws StartError if it cannot listen on the port
 */
export async function demo({ port, kill }: { readonly port: string; readonly kill: number }): Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  // Before anything is started: a signal that nothing listens to ends this process, and leaves its store behind.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => ending.abort());
  const log = createLog("error");
  const store = await provisionStore(readConfig({}, { STORE: "embedded" }), log);
  const settings = { REDIS_URL: store.url, STORE: "external", HANDLERS, LOG_LEVEL: "error" };
  const stop: (() => Promise<unknown>)[] = [() => store.stop()];
  try {
    const server = await start(readConfig({}, { ...settings, ROLE: "api", PORT: port }), log, { signal });
    stop.push(() => server.stop(0));
    const url = server.url ?? "";
    note(`queues: ${server.queues.join(", ")}; the store is embedded: its data ends with this command`);
    note(`paihao demo is ready on ${url}`);
    note(`dashboard: ${url}/dashboard · Ctrl-C ends it`);
    await Promise.all([runWorker(settings, signal), runWorker(settings, signal, kill), sendTraffic(url, signal)]);
  } catch (error) {
    // After a signal, this is only its consequence.
    if (!signal.aborted) throw error;
  } finally {
    for (const each of stop.reverse()) await each();
  }
}

/** Runs a worker process until the end, and kills it every so many ms. */
async function runWorker(
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
  killMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  while (!signal.aborted) {
    const worker = spawnWorker(settings);
    const exited = once(worker, "exit");
    await Promise.race([exited, wait(killMs, signal)]);
    worker.kill("SIGKILL");
    await exited;
    await wait(Math.min(AWAY_MS, killMs), signal);
  }
}

function spawnWorker(settings: Readonly<Record<string, string>>): ChildProcess {
  const [program = ""] = process.argv.slice(1);
  // biome-ignore lint/style/noProcessEnv: only what finds programs; the settings are those above
  const { PATH, HOME, TMPDIR } = process.env;
  return spawn(process.execPath, [...process.execArgv, program, "start", "--role", "worker"], {
    // Where no .env is read.
    cwd: HANDLERS,
    env: { PATH, HOME, TMPDIR, ...settings },
    stdio: "ignore",
  });
}

/** Resolves after a time, or at the end. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (Number.isFinite(ms)) await sleep(ms, undefined, { signal }).catch(() => undefined);
  else if (!signal.aborted) await once(signal, "abort");
}

/** From one peak of the traffic to the next, s. */
const PERIOD_S = 180;

/** The share of a queue's peak at a second: from a fifth of it to all. */
const levelAt = (second: number): number => 0.6 + 0.4 * Math.sin((2 * Math.PI * second) / PERIOD_S);

/** What is submitted to each queue: tasks a second at the peak, and the label and input of the n-th. */
const KINDS: Readonly<Record<string, { peak: number; of(n: number): { label: string; input: object } }>> = {
  thumbnails: { peak: 9, of: (n) => ({ label: `photo ${n}`, input: { seconds: 0.4 + 0.1 * (n % 9) } }) },
  emails: { peak: 6, of: (n) => ({ label: `letter ${n}`, input: { seconds: 0.15 } }) },
  vision: { peak: 0.55, of: (n) => ({ label: `scan ${n}`, input: { seconds: 2 + 0.3 * (n % 11) } }) },
  reports: {
    peak: 1.2,
    of: (n) => ({ label: `week ${n} of customer ${n % 4}`, input: { customer: n % 4, seconds: 2 + 0.2 * (n % 9) } }),
  },
  translations: {
    peak: 2.4,
    of: (n) => ({
      label: `page ${n}`,
      input: { customer: n % 5 === 0 ? "small" : "large", seconds: 0.8 + 0.1 * (n % 7) },
    }),
  },
  invoices: { peak: 0.8, of: (n) => ({ label: `invoice ${2000 + n}`, input: { number: 2000 + n, seconds: 0.9 } }) },
};

/** Submits tasks to all queues, more and less of them by turns, until the end. */
async function sendTraffic(url: string, signal: AbortSignal): Promise<void> {
  const client = new PaihaoClient({ url });
  const sent = new Map<string, number>();
  for (let second = 0; !signal.aborted; second += 1) {
    const submissions: Promise<unknown>[] = [];
    for (const [queue, { peak, of }] of Object.entries(KINDS)) {
      const before = sent.get(queue) ?? 0;
      const due = before + peak * levelAt(second);
      sent.set(queue, due);
      for (let n = Math.floor(before); n < Math.floor(due); n += 1) {
        const { label, input } = of(n);
        // A queue that is full, or a server that stops, refuses it.
        submissions.push(client.submit(queue, input, { label, signal }).catch(() => undefined));
      }
    }
    await Promise.all([...submissions, sleep(1000, undefined, { signal }).catch(() => undefined)]);
  }
}
