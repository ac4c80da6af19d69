import { PRIORITY } from "../../task.ts";
import { named, verb } from "./codec.ts";
import { list, number, type Reply, text } from "./reply.ts";

/** Maximum number of steps, and maximum bytes of an input and of a step's value that are read. */
export const DETAILS_LIMITS = { steps: 100, bytes: 20_000, stepBytes: 1000 } as const;

/** An attempt that did not end its task; see lua/past.lua. */
export interface PastAttempt {
  /** 0 for the retry of a dead task, which is not an attempt. */
  readonly number: number;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly fate: string;
  /** "" if unknown. */
  readonly worker: string;
  readonly error: string;
}

/** What an attempt has left for operators. */
export interface StoredLog {
  readonly number: number;
  readonly beganMs: number;
  /** JSON. */
  readonly log: string;
}

/** A durable step of a task. */
export interface StepRecord {
  readonly name: string;
  /** Its place in the order in which they began. */
  readonly number: number;
  readonly state: "begun" | "done" | "undone";
  readonly undoable: boolean;
  /** Of its value as JSON. */
  readonly bytes: number;
  /** JSON; null if there is none, or it is too long to be read. */
  readonly value: string | null;
}

/** Details of a task that few callers need. */
export interface TaskDetails {
  /** The oldest first. */
  readonly past: readonly PastAttempt[];
  /** Of the latest attempts that have left any. */
  readonly logs: readonly StoredLog[];
  readonly priority: number;
  readonly mediaType: string;
  /** JSON of its query parameters; "" without any. */
  readonly query: string;
  readonly webhook: string;
  /** The task that undoes its work; "" if there is none. */
  readonly undo: string;
  readonly stepCount: number;
  readonly steps: readonly StepRecord[];
  /** Its length if it is long; null if there is none. */
  readonly input: Buffer | number | null;
}

const SUBMITTED = ["priority", "mediaType", "query", "webhook", "input"] as const;
const ANSWER = [...SUBMITTED, "past", "logs", "undo", "stepCount", "steps"] as const;
const STEP = ["name", "stored", "length"] as const;

/** Reads details of a task that few callers need; null if it is unknown. */
export const details = verb({
  layout: { args: ["id", "steps", "bytes", "stepBytes"], answer: ANSWER, step: STEP },
  bytes: true,
  write: ({ id }: { readonly id: string }) => [
    id,
    DETAILS_LIMITS.steps,
    DETAILS_LIMITS.bytes,
    DETAILS_LIMITS.stepBytes,
  ],
  read: (reply): TaskDetails | null => {
    if (!Array.isArray(reply)) return null;
    const { input, ...of } = named(ANSWER, reply);
    return {
      past: text(of.past).split("\n").flatMap(attemptOf).reverse(),
      logs: text(of.logs).split("\n").flatMap(logOf),
      priority: text(of.priority) === "" ? PRIORITY.default : number(of.priority),
      mediaType: text(of.mediaType) || "application/json",
      query: text(of.query),
      webhook: text(of.webhook),
      undo: text(of.undo),
      stepCount: number(of.stepCount),
      steps: list(of.steps)
        .map(stepOf)
        .sort((a, b) => a.number - b.number),
      input: typeof input === "number" ? input || null : Buffer.isBuffer(input) && input.length > 0 ? input : null,
    };
  },
});

function attemptOf(line: string): PastAttempt[] {
  const [attempt, began, ended, fate, worker, ...error] = line.split(" ");
  if (fate === undefined) return [];
  return [
    {
      number: Number(attempt),
      beganMs: Number(began),
      endedMs: Number(ended),
      fate,
      worker: worker === "-" || worker === undefined ? "" : worker,
      error: error.join(" "),
    },
  ];
}

function logOf(line: string): StoredLog[] {
  const [, attempt, began, log] = /^(\d+) (\d+) (.*)$/s.exec(line) ?? [];
  return log === undefined ? [] : [{ number: Number(attempt), beganMs: Number(began), log }];
}

/** A stored step is its number, a letter, a space and JSON: see verbs/step.lua. */
function stepOf(reply: Reply): StepRecord {
  const { name, stored: some, length } = named(STEP, reply);
  const stored = text(some);
  const [head = "", place = "0", letter = ""] = /^(\d+)([a-z]?) /.exec(stored) ?? [];
  const bytes = number(length) - head.length;
  const value = stored.slice(head.length);
  return {
    name: text(name),
    number: Number(place),
    state: letter === "u" ? "undone" : bytes > 0 ? "done" : "begun",
    undoable: letter !== "",
    bytes,
    value: bytes > 0 && bytes === Buffer.byteLength(value) ? value : null,
  };
}
