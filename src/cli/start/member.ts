/** A process of a fleet (see fleet.ts). It reports to its parent when it is ready, and prints no greeting. */
import { AggregatorRegistry } from "prom-client";
import { messageOf, StartError } from "../../errors.ts";
import { start } from "../../server.ts";
import { loadEnvironment } from "../environment.ts";
import { CommandError } from "../exit.ts";
import type { MemberMessage, ParentMessage } from "./fleet.ts";
import { endAfter, endWhenStuck, leaveSignalsToParent } from "./shutdown.ts";
import { prepareProcess } from "./start.ts";

// Fails only if the parent is gone; this process then ends as well.
const tell = (message: MemberMessage): void => void process.send?.(message, undefined, undefined, () => undefined);

leaveSignalsToParent();

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
  // Reports the metrics of this process to the parent.
  new AggregatorRegistry();
  loadEnvironment();
  const { config, log } = prepareProcess();
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
  const { url, doors, queues, sample } = running;
  tell({ ready: { url, doors, queues, sample } });
} catch (error) {
  if (!(error instanceof StartError || error instanceof CommandError)) throw error;
  tell({ refusal: messageOf(error) });
  process.exitCode = 1;
  process.disconnect?.();
}
