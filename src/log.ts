import rTracer from "cls-rtracer";
import { type DestinationStream, type Logger, pino } from "pino";

import { messageOf } from "./errors.ts";
import { redaction } from "./redact.ts";

export type { Logger } from "pino";

/** The values of LOG_LEVEL, the quietest last. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Takes a finished line of a log. */
type KeepLine = (line: string) => void;
const KEEP = Symbol("keep");
type Kept = Logger & { readonly [KEEP]?: KeepLine };

/**
 * A log like `log` whose lines, and those of its children, are kept besides: as they are written, without secrets. Nothing is kept of a log
 * that {@link createLog} has not made.
 */
export function keptLog(log: Logger, keep: KeepLine): Logger {
  return Object.assign(log.child({}), { [KEEP]: keep });
}

/** How a line ends that pino writes for a message without a form in JSON, such as a symbol. */
const NO_MESSAGE = '"msg":undefined}\n';

/** Names what runs now in a trace; undefined as long as nothing is traced in this process. */
let traceIds: (() => { trace_id: string; span_id: string } | undefined) | undefined;

/** From now on log lines have the ids of the trace in which they are written. */
export function useTraceIds(read: NonNullable<typeof traceIds>): void {
  traceIds = read;
}

/**
 * Makes the process's log: JSON lines on standard output. Every line written while a request is answered or a task runs has its
 * id as `requestId`: cls-rtracer keeps it through all asynchronous calls. Long values are cut and secrets replaced in the finished
 * line, wherever in it they are: errors quote URLs and inputs, and handlers log what they like.
 * @param secrets further ones than those that can be told by their form
 * @param isRelayed another process writes the lines to its log: what is cut here, it could not recognise as a part of a secret
 */
export function createLog(
  level: LogLevel,
  {
    destination,
    secrets,
    isRelayed = false,
  }: { destination?: DestinationStream; secrets?: readonly string[]; isRelayed?: boolean } = {},
): Logger {
  const redacted = isRelayed ? undefined : redaction(secrets);
  const clean = (line: string) => {
    const json = line.endsWith(NO_MESSAGE) ? `${line.slice(0, -NO_MESSAGE.length)}"msg":null}\n` : line;
    return redacted?.(json) ?? json;
  };
  /** Who keeps the line that is being written. */
  let keep: KeepLine | undefined;
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: {
      logMethod(this: Logger, args: Parameters<pino.LogFn>, method: pino.LogFn) {
        const outer = keep;
        keep = (this as Kept)[KEEP];
        try {
          method.apply(this, args);
        } catch (error) {
          // A handler may log what throws when it is read; that must not be how it ends.
          method.call(this, { reason: messageOf(error) }, "log: a line could not be written");
        } finally {
          keep = outer;
        }
      },
      streamWrite(line: string) {
        const written = clean(line);
        keep?.(written);
        return written;
      },
    },
    mixin: () => {
      const requestId = scope()?.requestId;
      const ids = requestId === undefined ? {} : { requestId };
      return traceIds ? { ...ids, ...traceIds() } : ids;
    },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Tells of a promise that was rejected and that nothing handles, with the id of its task where that is known. */
export function logRejection(log: Logger, reason: unknown): void {
  log.error({ err: reason }, "a promise was rejected and nothing handled it; the process goes on");
}

/** What is known of what runs now, through all asynchronous calls. */
export interface Scope {
  /** Undefined outside of requests and tasks. */
  readonly requestId: string | undefined;
}

/** That of what runs now. */
function scope(): Scope | undefined {
  return rTracer.id() as Scope | undefined;
}

/** Runs `work` so that this is known of it. */
export function runInScope<T>(of: Scope, work: () => T): T {
  return rTracer.runWithId(work, of);
}
