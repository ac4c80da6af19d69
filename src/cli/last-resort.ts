import type { Logger } from "../log.ts";

/**
 * Keeps the process up when a promise is rejected and nobody waits for it. Node would end it, and with it every request and every
 * task of this process, for one forgotten `catch`, perhaps in a handler. Going on is safe: such a promise leaves nothing half
 * done that anyone relies on, requests have their own time limits, and a task whose attempt hangs loses its lease. An exception
 * that nobody catches still ends the process: it may have stopped anywhere.
 */
export function surviveRejections(log: Logger): void {
  process.on("unhandledRejection", (reason) => {
    log.error({ err: reason }, "a promise was rejected and nothing handled it; the process goes on");
  });
}
