import { pino } from "pino";
import type { Logger } from "../../log.ts";

/** Writes a line of another thread's or process's log into this one's. */
export function relayLog(log: Logger, line: string): void {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(line) as Record<string, unknown>;
  } catch {
    log.info(line);
    return;
  }
  const { level, time: _time, pid: _pid, msg, err, ...rest } = fields;
  const label = pino.levels.labels[Number(level)];
  const write = label === undefined || label === "silent" ? "info" : (label as "info");
  log[write](
    { ...rest, ...(err !== undefined && { err: errorForLog(err) }) },
    typeof msg === "string" ? msg : undefined,
  );
}

/** An error as the log shows it: without a prototype, or pino would take it for one of a class named Object. */
export function errorForLog(error: unknown): unknown {
  return typeof error === "object" && error !== null ? Object.assign(Object.create(null), error) : error;
}
