import type { Logger } from "../../log.ts";
import type { Running } from "../../running.ts";

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
