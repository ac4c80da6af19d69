import { pino } from "pino";
import type { Logger } from "../../log.ts";

/** Writes a log line of another process to the log of this one. */
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
  const write = label === undefined ? "info" : (label as "info");
  log[write](
    { ...rest, ...(err !== undefined && { err: errorForLog(err) }) },
    typeof msg === "string" ? msg : undefined,
  );
}

/** An error for the log: without a prototype, otherwise pino would log its type as Object. */
export function errorForLog(error: unknown): unknown {
  return typeof error === "object" && error !== null ? Object.assign(Object.create(null), error) : error;
}
