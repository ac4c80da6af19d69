/** How the process of a server ends: when it is told to, and when a handler is stuck. */

import type { Config } from "../../config/config.ts";
import { type Logger, logRejection } from "../../log.ts";
import type { Running } from "../../running.ts";
import { counted, duration } from "../../words/numbers.ts";
import { note } from "../terminal/print.ts";

/** A process that can be told to end. */
interface Stoppable {
  readonly config: Config;
  readonly log: Logger;
  /** Whether SIGHUP means to read the API keys again, or to replace processes. */
  readonly reloads: boolean;
  /** Whether it ends with `paihao dev`. */
  readonly dev: boolean;
}

/**
 * Starts a server that stops at SIGINT or SIGTERM: it drains, and its process exits. A signal that comes during the start ends that, a second
 * one ends the process at once.
 * @param start its signal ends the start
 */
export function stopAtSignals(
  start: (signal: AbortSignal) => Promise<Running>,
  { config, log, reloads, dev }: Stoppable,
): { readonly starting: Promise<Running>; readonly signal: AbortSignal } {
  const stopping = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping.signal.aborted) return;
    for (const again of ["SIGINT", "SIGTERM"] as const)
      process.removeListener(again, onSignal).once(again, () => process.exit(130));
    tellStop(signal, config);
    stopping.abort();
    starting.then(
      (running) => {
        tellWait(running, config);
        endAfter(running, log);
      },
      () => process.exit(),
    );
  };
  const reload = () => starting.then((running) => running.reload()).catch(() => undefined);
  // Before the start: a signal that nothing listens to ends this process, and leaves its store behind.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  // Without anything to read again it ends: closing the terminal ends the server, as people expect.
  process.on("SIGHUP", reloads ? reload : onSignal);
  const starting = start(stopping.signal);
  if (dev) onParentEnd(() => onSignal("SIGTERM"));
  return { starting, signal: stopping.signal };
}

/**
 * Leaves it to the parent when this process stops. A terminal's Ctrl-C reaches every process of its group, a service manager's SIGTERM every
 * process of the service. If the worker stopped at once, callers of the other processes would never get their results.
 */
export function leaveSignalsToParent(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
}

/** Lets a server drain, then ends the process with this code. */
export function endAfter(
  running: Running,
  log: Logger,
  { code = 0, withinMs, replaced }: { code?: number; withinMs?: number; replaced?: boolean } = {},
): void {
  running.stop(withinMs, replaced).then(
    () => process.exit(code),
    (error: unknown) => {
      log.fatal({ err: error }, "could not stop cleanly; exiting");
      process.exit(1);
    },
  );
}

/** Ends the process when a handler in it is stuck: the task goes on elsewhere, and a supervisor starts another process. */
export function endWhenStuck(running: Running, log: Logger): void {
  void running.stuck?.then(() => {
    log.error("a handler ignores its signal; this process drains and exits, so that its supervisor restarts it");
    endAfter(running, log, { code: 1 });
  });
}

/**
 * Keeps the process running after an unhandled rejection: Node would end it, with all its tasks, for one forgotten `catch` in a handler.
 * That is safe, since nothing waits for such a promise. An uncaught exception still ends the process, since it may have been thrown
 * anywhere.
 */
export function surviveRejections(log: Logger): void {
  process.on("unhandledRejection", (reason) => logRejection(log, reason));
}

/** Calls when `paihao dev` closes the channel, as it does for a new start, or is gone. */
function onParentEnd(end: () => void): void {
  process.on("disconnect", end);
  // The channel alone does not keep this process alive.
  process.channel?.unref();
  // It may have been closed before that was listened to.
  if (process.connected === false) end();
}

/** If the server has not stopped by then, it says what it waits for, ms. */
const TELL_MS = 500;

/** Says that the server stops, and that it has stopped. */
function tellStop(signal: string, { role }: Config): void {
  const began = performance.now();
  note(`paihao ${role} is stopping: ${signal}; another one ends it at once`);
  process.once("exit", () => note(`paihao ${role} has stopped after ${span(performance.now() - began)}`));
}

/** Says what a server that stops waits for, if it is long. */
function tellWait(running: Running, { role, drainTimeoutMs }: Config): void {
  setTimeout(async () => {
    const busy = await running.busy?.();
    const what = busy
      ? `${counted(busy.tasks, "running task")} and ${counted(busy.connections, "connection")}`
      : "its processes";
    note(`paihao ${role} waits for ${what}, for ${span(drainTimeoutMs)} at most`);
  }, TELL_MS);
}

const span = (ms: number) => duration(ms / 1000);
