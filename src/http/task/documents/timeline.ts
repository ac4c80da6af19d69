import type { Inspection } from "../../../engine/watch/inspect.ts";
import { DETAILS_LIMITS, type PastAttempt, type StepRecord, type TaskDetails } from "../../../store/task/details.ts";
import { isJsonType, isOutcome } from "../../../task.ts";
import type { Attempt, AttemptRecord, Shown, Step } from "../../../wire/timeline.ts";
import { timestamp } from "../../../wire/timestamp.ts";

/** Maximum number of entries of task/past.lua: if there are this many, earlier ones may have been left out. */
const MAX_PAST = 10;

/**
 * The attempts of a task, the oldest first.
 * @param all whether to include workers, errors, stacks and logs, which are for operators
 */
export function attemptsOf(
  seen: Inspection,
  { past, logs }: TaskDetails,
  all: boolean,
): { attempts: Attempt[]; omitted: boolean } {
  /** What an attempt has left. */
  const recordOf = (number: number, beganMs: number): Pick<Attempt, "stack" | "log"> => {
    const kept = all && logs.find((log) => log.number === number && log.beganMs === beganMs);
    const { stack = null, log = [] } = kept ? (JSON.parse(kept.log) as AttemptRecord) : {};
    return { stack, log };
  };
  const attempts = past.map((attempt) => ({
    ...pastAttempt(attempt, all),
    ...recordOf(attempt.number, attempt.beganMs),
  }));
  const { state, startedMs, attempts: number, worker } = seen;
  // A task that waits for another attempt, or was canceled meanwhile, still has the run of the previous attempt.
  const isOver = past.some((attempt) => attempt.beganMs === startedMs && attempt.number === number);
  if (startedMs !== null && !isOver && (state === "running" || isOutcome(state))) {
    attempts.push({
      number,
      startedAt: timestamp(startedMs),
      endedAt: timestamp(seen.finishedMs),
      outcome: state,
      worker: all ? worker : null,
      error: (all && state === "failed" && seen.errors[0]) || null,
      ...recordOf(number, startedMs),
    });
  }
  return { attempts, omitted: past.length >= MAX_PAST };
}

function pastAttempt(
  { number, beganMs, endedMs, fate, worker, error }: PastAttempt,
  all: boolean,
): Omit<Attempt, "stack" | "log"> {
  return {
    number,
    startedAt: timestamp(beganMs),
    endedAt: timestamp(endedMs),
    outcome: fate as Attempt["outcome"],
    worker: (all && worker) || null,
    error: (all && error) || null,
  };
}

/**
 * A step with its value, if that is short.
 * @param undoneAt when all steps of the task had been undone; null if they have not
 */
export function stepDocument({ value, ...step }: StepRecord, undoneAt: string | null): Step {
  return {
    ...step,
    undoneAt: step.state === "undone" ? undoneAt : null,
    value: value === null ? null : jsonOf(value),
    truncated: value === null && step.bytes > 0,
  };
}

/** An input or a result, which is `null` if it is too long. */
export function shown(mediaType: string, bytes: Uint8Array | null, length: number | null): Shown {
  const [type = ""] = mediaType.toLowerCase().split(";");
  const known = {
    mediaType,
    bytes: bytes?.length ?? length,
    truncated: bytes === null || bytes.length > DETAILS_LIMITS.bytes,
  };
  if (bytes === null || known.truncated) return known;
  const text = Buffer.from(bytes).toString("utf8");
  if (isJsonType(mediaType)) return { ...known, json: jsonOf(text) };
  return type.startsWith("text/") || type === "application/x-ndjson" ? { ...known, text } : known;
}

/** A JSON value; text that is not JSON stays text. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
