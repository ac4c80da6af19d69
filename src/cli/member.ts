/**
 * A process of a fleet (see fleet.ts), configured by its environment and the first message of its parent. It reports to its parent when it
 * is ready, and prints no greeting.
 */
import { once } from "node:events";
import { readConfig } from "../config/config.ts";
import { secretsOf } from "../config/secrets.ts";
import { StartError } from "../errors.ts";
import { createLog, type Logger } from "../log.ts";
import type { ReadMetric } from "../metrics.ts";
import { withTimeout } from "../net/with-timeout.ts";
import { type Started, start } from "../server.ts";
import { endAfter, endWhenStuck } from "./ending.ts";
import {
  BEAT_MS,
  type MemberMessage,
  type ParentMessage,
  type SettingsMessage,
  type StartMessage,
} from "./fleet-messages.ts";
import { surviveRejections } from "./last-resort.ts";

/** Maximum time for the metrics of the fleet: longer than a member may take to read its own. */
const SCRAPE_MS = 8000;

// Fails only if the parent is gone; this process then ends as well.
const tell = (message: StartMessage | MemberMessage): void =>
  void process.send?.(message, undefined, undefined, () => undefined);

// A terminal's Ctrl-C reaches every process of its group, a service manager's SIGTERM every process of the service: members
// ignore both, and the parent decides when each stops. If the worker stopped at once, callers of the other processes would never get their
// results.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined);

/** Those who wait for the metrics of the fleet. */
const scraping: ((text: string) => void)[] = [];

/** The metrics of the fleet, from its parent. */
function exposition(): Promise<string> {
  const text = new Promise<string>((resolve) => scraping.push(resolve));
  if (scraping.length === 1) tell({ scrape: true });
  return withTimeout(SCRAPE_MS, text, () => {
    scraping.length = 0;
    return new Error("the parent of this process did not send the metrics of the fleet in time");
  });
}

function receive(running: Started, message: ParentMessage, log: Logger): void {
  if ("stopWithinMs" in message) endAfter(running, log, { withinMs: message.stopWithinMs });
  else if ("exposition" in message) for (const resolve of scraping.splice(0)) resolve(message.exposition);
  else void running.readMetrics().then((metrics) => tell({ metrics: metrics as readonly ReadMetric[] }));
}

try {
  const sent = once(process, "message") as Promise<[SettingsMessage | ParentMessage]>;
  tell({ listens: true });
  const [first] = await sent;
  if (!("settings" in first)) process.exit(0);
  const config = readConfig(undefined, first.settings);
  const log = createLog(config.logLevel, { secrets: secretsOf(config) });
  surviveRejections(log);
  const starting = start(config, log, { exposition });
  // Messages that arrive during the start, above all the one to stop, are handled after it. If the start fails, they are dropped.
  const afterStart = (act: (running: Started) => void) => void starting.then(act).catch(() => undefined);
  process.on("SIGHUP", () => afterStart((running) => running.reload()));
  process.on("message", (message: ParentMessage) => afterStart((running) => receive(running, message, log)));
  const running = await starting;
  endWhenStuck(running, log);
  const { url, queues, longestLeaseMs } = running;
  tell({ ready: { url, queues, longestLeaseMs } });
  setInterval(() => tell({ beat: true }), BEAT_MS).unref();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  tell({ refusal: error.message });
  process.exitCode = 1;
  process.disconnect?.();
}
