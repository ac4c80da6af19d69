import { type Logger, logRejection } from "../../log.ts";

/**
 * Keeps the process running after an unhandled rejection: Node would end it, with all its tasks, for one forgotten `catch` in a handler.
 * That is safe, since nothing waits for such a promise. An uncaught exception still ends the process, since it may have been thrown
 * anywhere.
 */
export function surviveRejections(log: Logger): void {
  process.on("unhandledRejection", (reason) => logRejection(log, reason));
}
