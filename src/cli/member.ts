/**
 * A process of a fleet (see fleet.ts), configured by its environment and the first message of its parent. It reports to that when it
 * is ready, and prints no greeting.
 */
import { once } from "node:events";
import { readConfig } from "../config/config.ts";
import { secretsOf } from "../config/secrets.ts";
import { StartError } from "../errors.ts";
import { createLog } from "../log.ts";
import { start } from "../server.ts";
import { endAfter, endWhenStuck } from "./ending.ts";
import type { MemberMessage, SettingsMessage, StopMessage } from "./fleet.ts";
import { surviveRejections } from "./last-resort.ts";

const tell = (message: MemberMessage): void => void process.send?.(message);

// A terminal's Ctrl-C reaches every process of its group, a service manager's SIGTERM every process of the service: members
// ignore both, and the parent decides when each stops. If the worker stopped at once, callers of the other processes would wait
// in vain.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined);

try {
  const sent = once(process, "message") as Promise<[SettingsMessage | StopMessage]>;
  tell({ listens: true });
  const [first] = await sent;
  if (!("settings" in first)) process.exit(0);
  const config = readConfig(undefined, first.settings);
  const log = createLog(config.logLevel, { secrets: secretsOf(config) });
  surviveRejections(log);
  const running = await start(config, log);
  process.on("SIGHUP", () => running.reload());
  process.on("message", ({ stopWithinMs }: StopMessage) => {
    endAfter(running, log, { withinMs: stopWithinMs });
  });
  endWhenStuck(running, log);
  tell({ ready: { url: running.url, queues: running.queues } });
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  tell({ refusal: error.message });
  process.exitCode = 1;
  process.disconnect?.();
}
