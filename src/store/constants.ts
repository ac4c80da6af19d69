import { INTERNAL_QUEUES } from "../handler/internal-queues.ts";
import { LONGEST_WARMUP_MS } from "../handler/options.ts";
import { LONGEST_DELAY_S, PRIORITY } from "../task.ts";

/** Constants that TypeScript and the Lua files share; a Lua file writes `C.classSpan`. */
export const SHARED = {
  /** The zero of clock values, so that they stay below {@link SHARED.classSpan}. */
  epochMs: Date.UTC(2026, 0, 1),
  /** The distance between two priority classes in a score. */
  classSpan: 2 ** 45,
  /** The last decimal digits of a fence; those before are its time, ms since {@link SHARED.epochMs}. */
  fenceDigits: 3,
  defaultPriority: PRIORITY.default,
  /** The latest time that a task may be scheduled for, ms from now. */
  longestDelayMs: LONGEST_DELAY_S * 1000,
  /** Maximum number of dead tasks kept for a queue; beyond that the oldest are deleted. */
  deadCap: 10_000,
  webhookQueue: INTERNAL_QUEUES.webhooks,
  undoQueue: INTERNAL_QUEUES.undo,
  /** The latest outcomes that are kept of a queue. */
  maxFinished: 1000,
  /** How many bytes from the end of a worker's name are in the record of a task. */
  workerBytes: 20,
  /** The interval of a rate bucket and of a sample of a queue's history, ms. */
  bucketMs: 10_000,
  /** For how many intervals all samples of a queue are kept: an hour. */
  maxSamples: 360,
  /** In how many intervals the last sample is kept for a day, and for a week. */
  fiveMinutes: 30,
  anHour: 360,
  /**
   * The work of ending a task with all that follows from that (webhook, undo, group), or of putting one back into a line, as a multiple of a
   * usual item: so many fewer are in a call of 5 ms. `npm run bench -- scripts` shows the longest calls.
   */
  moveWork: 5,
  /** The message on the channel of a queue's work if a waiting request gets the work as well, see standby.ts. */
  passedOn: "p",
  /** The message there if what an operator sets of the queue has changed, for all its workers or for one. */
  adjusted: "adjusted",
  /** Why a running task is canceled: its caller asked for it, its deadline has passed, or nobody has looked at it. */
  cancelByCaller: "1",
  cancelByDeadline: "d",
  cancelByAbsence: "a",
  /** The error codes of tasks that were canceled by their deadline, or because nobody looked at them. */
  deadlinePassed: "deadline-passed",
  abandoned: "abandoned",
  /** The error code of a turn that has lasted too long. */
  taskTimeout: "task-timeout",
  /** The distance between two states in a score of K.memberStates: more than any time, ms. */
  memberSpan: 1e13,
  /** The latest service times that are kept of a queue. */
  window: 64,
  /** What takes a worker longer is not a start: no worker came, ms. */
  longestStartMs: LONGEST_WARMUP_MS,
  /** The minimum weight of a new start in the mean of how long workers take to start. */
  minStartWeight: 0.1,
  /** An input up to this length is in the task's hash, so that it costs no key of its own. */
  inlineInputBytes: 256,
  /** A stored result up to this length is in the task's hash, so that it costs no key of its own. */
  inlineResultBytes: 256,
  /** Maximum number of processes that a task's record names as listeners, so that the names stay below 64 bytes. */
  maxListeners: 6,
  /** Replaces the names if more processes listen: the channel of all processes that listen to any task. */
  everyone: "*",
  /** A longer result is not part of the notice of a task's end: listeners read it. */
  noticeBytes: 4096,
} as const;
