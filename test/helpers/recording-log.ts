import { createLog, type Logger } from "../../src/log.ts";

/** A log that keeps its messages. */
export interface RecordingLog {
  readonly log: Logger;
  /** The messages so far, the first first. */
  readonly messages: string[];
}

/** A log whose messages a test can read. */
export function recordingLog(): RecordingLog {
  const messages: string[] = [];
  const log = createLog("debug", { destination: { write: (line) => messages.push(String(JSON.parse(line).msg)) } });
  return { log, messages };
}
