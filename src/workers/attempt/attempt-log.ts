import { pino } from "pino";
import type { HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import { keptLog, type Logger } from "../../log.ts";
import type { AttemptRecord, LoggedLine } from "../../wire/task.ts";

/** How much is kept of one attempt: lines, bytes of all of them and characters of one, bytes of a stack. */
const MAX = { lines: 50, logBytes: 8192, lineLength: 1000, stackBytes: 8192 } as const;

/** The log of a handler in one attempt, of which the latest lines are kept. */
export class AttemptLog {
  readonly log: Logger;
  readonly #lines: string[] = [];

  /** @param log where it writes */
  constructor(log: Logger) {
    this.log = keptLog(log, (line) => {
      this.#lines.push(line);
      if (this.#lines.length > MAX.lines) this.#lines.shift();
    });
  }

  /** The latest lines that fit. */
  get lines(): LoggedLine[] {
    const kept: LoggedLine[] = [];
    let bytes = 0;
    for (const line of this.#lines.toReversed()) {
      const entry = entryOf(line);
      bytes += Buffer.byteLength(JSON.stringify(entry));
      if (bytes > MAX.logBytes) break;
      kept.unshift(entry);
    }
    return kept;
  }
}

/** What an attempt leaves for operators, as JSON; undefined if that is nothing. */
export function recordOf(log: AttemptLog | undefined, end: HandlerEnd): string | undefined {
  if (log === undefined && end.kind !== "error") return undefined;
  const stack = end.kind === "error" ? stackOf(end.error) : undefined;
  const lines = log?.lines ?? [];
  if (stack === undefined && lines.length === 0) return undefined;
  return JSON.stringify({ ...(stack !== undefined && { stack }), log: lines } satisfies AttemptRecord);
}

/** The stack; what is not an Error has only its message. */
function stackOf({ message, stack = message }: { message: string; stack?: string }): string | undefined {
  if (stack === message) return undefined;
  // A character may be cut in two.
  return Buffer.from(stack)
    .subarray(0, MAX.stackBytes)
    .toString()
    .replace(/\ufffd+$/, "");
}

/** How a line begins. A member of a handler may have the same name, and comes later. */
const HEAD = /^\{"level":(\d+),"time":"([^"]+)"/;

/** An error as the log writes it, with the errors in it. */
interface LoggedError {
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly aggregateErrors?: readonly LoggedError[];
}

/** What people read of a line: its message, its error, and its other members as JSON. */
function entryOf(line: string): LoggedLine {
  const { level: _level, time: _time, msg, err, ...members } = JSON.parse(line) as Record<string, unknown>;
  const [, level = "", time = ""] = HEAD.exec(line) ?? [];
  const {
    pid: _pid,
    queue: _queue,
    attempt: _attempt,
    requestId: _id,
    trace_id: _trace,
    span_id: _span,
    ...rest
  } = members;
  const { message, stack = message, aggregateErrors } = (err ?? {}) as LoggedError;
  const inner = aggregateErrors?.map((one) => one.message).join(", ");
  const parts = [msg, inner && `[${inner}]`, stack, Object.keys(rest).length > 0 ? JSON.stringify(rest) : undefined];
  const text = parts.filter((part) => typeof part === "string" && part !== "").join(" ");
  return {
    at: time,
    level: pino.levels.labels[Number(level)] ?? level,
    text: text.slice(0, MAX.lineLength),
  };
}
