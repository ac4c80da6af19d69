/** A process of a fleet (see fleet.ts): its environment says which; it tells its parent when it is ready, and greets nobody. */
import { readConfig } from "../config.ts";
import { StartError } from "../errors.ts";
import { createLog } from "../log.ts";
import { start } from "../main.ts";
import type { MemberMessage } from "./fleet.ts";

const tell = (message: MemberMessage): void => void process.send?.(message);

// A terminal's Ctrl-C reaches every process of its group: the parent says what is to end, and when.
process.on("SIGINT", () => undefined);

try {
  const config = readConfig();
  const log = createLog(config.logLevel);
  const running = await start(config, log);
  process.on("SIGHUP", () => running.reload());
  // It may come twice, from the parent and from a service manager that tells every process.
  process.on("SIGTERM", () => {
    running.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, "could not stop in good order");
        process.exit(1);
      },
    );
  });
  tell({ ready: { url: running.url, queues: running.queues } });
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  tell({ refusal: error.message });
  process.exitCode = 1;
  process.disconnect?.();
}
