import { createLog, type Logger } from "../log.ts";

/** A line of a log. */
export interface LogEntry {
  /** `info`, `warn` … */
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A log that keeps its lines, of every level. */
export function recordedLog(): { readonly log: Logger; readonly entries: readonly LogEntry[] } {
  const entries: LogEntry[] = [];
  const write = (line: string): void => {
    // Tests do not depend on the process id and the time.
    const { level, pid: _pid, time: _time, msg = "", ...fields } = JSON.parse(line);
    entries.push({ level: log.levels.labels[level] ?? String(level), msg, ...fields });
  };
  const log: Logger = createLog("trace", { destination: { write } });
  return { log, entries };
}
