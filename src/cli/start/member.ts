/** A process of a fleet (see fleet.ts). It reports to its parent when it is ready, and prints no greeting. */
import { AggregatorRegistry } from "prom-client";
import { readConfig } from "../../config/config.ts";
import { secretsOf } from "../../config/secrets.ts";
import { messageOf, StartError } from "../../errors.ts";
import { createLog } from "../../log.ts";
import { start } from "../../server.ts";
import { CommandError } from "../exit.ts";
import { endAfter, endWhenStuck } from "./ending.ts";
import { loadEnvironment } from "./environment.ts";
import type { MemberMessage, ParentMessage } from "./fleet.ts";
import { surviveRejections } from "./last-resort.ts";
import { keepObjectsYoung } from "./young-objects.ts";

// Fails only if the parent is gone; this process then ends as well.
const tell = (message: MemberMessage): void => void process.send?.(message, undefined, undefined, () => undefined);

// A terminal's Ctrl-C reaches every process of its group, a service manager's SIGTERM every process of the service: the parent decides
// when each stops. If the worker stopped at once, callers of the other processes would never get their results.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

/** Those who wait for the metrics of all processes. */
const scraping: { resolve(text: string): void; reject(error: Error): void }[] = [];

/** The metrics of all processes, from the parent. */
function exposition(): Promise<string> {
  return new Promise((resolve, reject) => {
    scraping.push({ resolve, reject });
    if (scraping.length === 1) tell({ scrape: true });
  });
}

function receiveMetrics(text: string | undefined): void {
  for (const { resolve, reject } of scraping.splice(0)) {
    if (text === undefined) reject(new Error("a process on this port did not report its metrics in time"));
    else resolve(text);
  }
}

try {
  keepObjectsYoung();
  // Reports the metrics of this process to the parent.
  new AggregatorRegistry();
  loadEnvironment();
  const config = readConfig();
  const log = createLog(config.logLevel, { secrets: secretsOf(config) });
  surviveRejections(log);
  const stopping = new AbortController();
  const starting = start(config, log, { exposition, signal: stopping.signal });
  process.on("message", (message: ParentMessage) => {
    if ("exposition" in message) receiveMetrics(message.exposition);
    else if ("stopWithinMs" in message) {
      const { stopWithinMs: withinMs, replaced } = message;
      stopping.abort(new StartError("it was stopped while it started"));
      // If it has not started, it ends below.
      starting.then((running) => endAfter(running, log, { withinMs, replaced })).catch(() => undefined);
    }
  });
  const running = await starting;
  endWhenStuck(running, log);
  tell({ ready: { url: running.url, queues: running.queues } });
} catch (error) {
  if (!(error instanceof StartError || error instanceof CommandError)) throw error;
  tell({ refusal: messageOf(error) });
  process.exitCode = 1;
  process.disconnect?.();
}
