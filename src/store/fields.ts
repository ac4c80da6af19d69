import type { State } from "../task.ts";

/**
 * A longer input has a digest, and is stored in parts or under a Redis key of its own: one long field would prevent Redis's compact
 * encoding.
 */
export const INLINE_BYTES = 64;

/**
 * The fields of a task: name → its short form in Redis, and its content; a field with its default value is omitted. Lua files write
 * `F.state`. Only `answers`, `progress`, `query`, `label`, `trace` and `group` may exceed 64 bytes and so prevent the compact encoding:
 * `answers` only after failures or output, the others only if a caller or handler uses them.
 */
export const TASK_FIELDS = {
  queue: ["q", "queue"],
  state: ["s", "letter of its state, see STATE_LETTERS"],
  created: ["c", "created, ms"],
  revision: ["v", "how often its input was replaced; default 0"],
  input: ["i", "input, up to INLINE_BYTES"],
  digest: ["h", "digest of a longer input, which is in the next fields or under a key of its own"],
  input1: ["I", "a longer input, see task/input.lua: the first 64 bytes"],
  input2: ["I2", "the next 64, and so on"],
  input3: ["I3", ""],
  input4: ["I4", ""],
  mediaType: ["m", "media type of the input; default application/json"],
  query: ["u", "query parameters for the handler, JSON"],
  caller: ["z", "caller"],
  label: ["w", "what people call it"],
  trace: ["Z", "trace context of its submitter: traceparent, then, if there is one, a space and tracestate"],
  run: ["f", "its last reservation: fence, begin, attempts, place, worker, see task/run.lua; default none"],
  priority: ["O", "priority class; default PRIORITY.default"],
  place: ["o", "of a scheduled task, its class as a score"],
  extra: [
    "+",
    "1 once the task has had any rare field (one that a plain task which runs once and succeeds does not have); its line key if that is its only rare field. If absent, the rare fields need not be read",
  ],
  lost: ["l", "workers lost while its handler ran; default 0"],
  unbegun: [
    "n",
    "fence of the reservation whose handler has not begun yet; its worker will report the begin, and until then no loss counts",
  ],
  uncountedLosses: [
    "N",
    "how often its worker died since its last loss without that counting as one: its handler had not begun, or nobody knows, or it ran in a child process; default 0",
  ],
  apart: ["C", "fence of the run whose handler began in a child process"],
  progress: ["p", "progress: percent, how long the whole run takes at this pace (ms, 0 if unknown), message"],
  lease: ["L", "lease, ms, as it was last taken over HTTP"],
  turn: ["E", "of a turn: for how long it may last, ms, 0 for any time; see line/turns.lua"],
  share: ["G", 'in a fair line, "weight key"'],
  joined: ["j", "in a fair line, when it joined if later than its creation, ms"],
  before: ["B", 'in a fair line, "place id" of the task of its key that joined before it'],
  home: [
    "H",
    "a pointer: the partition of a task or group whose id leads to this one; such a record has only queue and caller besides",
  ],
  key: ["K", 'in a keyed line, "arrival key", see line/keyed.lua'],
  holds: ["b", "1 while it holds its line key between two attempts, or in line after that"],
  answers: ["V", "the answers to the last calls that changed it, newest first, see library/call.lua"],
  original: ["A", "the task whose input was submitted again as this one"],
  again: ["a", "the last task that was submitted with its input"],
  listeners: ["t", "the processes that are notified of its changes, see task/notices.lua; default none"],
  webhook: ["W", "URL that gets an event at its end"],
  group: ["M", "the group of which it is a member, see group/group.lua"],
  undo: ["U", "1 if its handler has an undo"],
  dropInput: ["X", "1 if its input is dropped once it has succeeded, unless it can be undone"],
  stepBytes: ["S", "bytes of its steps, if any"],
  output: ["T", "bytes of what its handler has written"],
  restarts: ["J", "how often it was taken back after it had started; default 0"],
  undoing: ["Y", "the task that undoes its work: 1 <id>:undo:<queue>, 2 the same with a colon and the fence"],
  deadline: ["D", "deadline, ms"],
  presenceMs: ["Q", "after how long without a look it is canceled, ms; until when that is: its score in deadlines"],
  cancel: [
    "k",
    "of a running task whose cancel is requested: why, SHARED.cancelByCaller, cancelByDeadline or cancelByAbsence",
  ],
  result: ["R", "its result, see encodeResult, when short: the first 64 bytes"],
  result2: ["R2", "the next 64, and so on"],
  result3: ["R3", ""],
  result4: ["R4", ""],
  ended: ["e", "ended, ms"],
  expires: ["x", "expiry of the result, ms"],
  deleted: ["g", "1 if the result was deleted"],
  errorCode: ["y", "error code of a failed task; SHARED.deadlinePassed or abandoned for a task that time canceled"],
  attempts: ["P", "1 once its attempts have left something, see ATTEMPT_FIELDS"],
} as const;

/** What the attempts of a task leave for operators, in a key of its own, which goes with the result. Lua files write `T.errors`. */
export const ATTEMPT_FIELDS = {
  errors: ["errors", "last errors, JSON array, newest first, truncated"],
  past: ["past", "the attempts that did not end it, newest first, see task/attempt.lua"],
  logs: ["logs", 'stacks and logs of the latest, newest first, a line "attempt began JSON" each, see task/attempt.lua'],
} as const;

/** The fields of a group. Lua files write `G.closed`. */
export const GROUP_FIELDS = {
  queue: ["q", "queue of its members"],
  caller: ["z", 'their caller; "" for none'],
  created: ["c", "created, ms"],
  openMs: ["o", "after how long without a new member it is closed, ms"],
  keepMs: ["k", "how long results of its queue are kept, ms"],
  tombstoneMs: ["T", "how much longer it is known after them, ms"],
  closed: ["s", "since when it takes no more members, ms"],
  canceled: ["C", "when its cancel was requested, ms"],
  presenceMs: [
    "Q",
    "after how long without a look at it or at a member it is canceled, ms; until when that is: its score in deadlines",
  ],
  canceling: ["g", "why, while there may be members that are still to be canceled: see the field cancel of a task"],
  finished: ["e", "when the last of its members ended, ms"],
  expires: ["x", "when the last of their results expires, ms, as far as they have ended"],
  lines: ["l", "how many lines its batches had, as far as they have ended"],
  followed: ["f", "how many members had ended when its results were first followed"],
  webhook: ["W", "URL that gets an event at its end"],
  listeners: ["t", "the processes that are notified of its changes: the same field as of a task"],
  webhookSent: ["w", "1 once that event has been queued"],
} as const;

/** The fields of a queue, beside the rate buckets of line/rate.lua. Lua files write `Q.paused`. */
export const QUEUE_FIELDS = {
  hlc: ["hlc", "last hybrid clock value: unique, grows, 16 a millisecond"],
  fence: ["fence", "last fence"],
  reservation: [
    "r:",
    'with a worker and lane behind it, its last reservation: "reservation, fence of the first id, ids"; so that it can be answered again',
  ],
  paused: ["paused", "1 while the queue is paused"],
  rest: ["rest", "while its gate lets nothing through: since when, until when, ms, a number of the gate, why"],
  trial: ["trial", "the last turn that began meanwhile, to find out whether that may end"],
  service: ["service", "how many service times there were, and the latest of them, see task/complete.lua"],
  workers: ["workers", "live workers at the last heartbeat"],
  slots: ["slots", "their slots"],
  batch: [
    "batch",
    'if a slot has one call with several tasks: "max wait", how many at most, and for how long it waits for more, ms',
  ],
  rate: ["rate", "how many tasks may start in how many ms, with a space between, if its handler declares a rate"],
  setRate: ["setRate", "the same, if an operator has set another one"],
  setConcurrency: ["setConcurrency", "the slots that each worker process gives the queue, if an operator has set them"],
  total: [
    "total",
    "how many of its tasks may run at once over all processes, if its handler says; if it has turns, then a space and for how long one may last, ms, 0 for any time",
  ],
  setTotal: ["setTotal", "how many may, if an operator has set another number"],
  quiet: [
    "quiet:",
    "with a worker behind it, 1 while that worker is to take no more work; 0 once it may again, so that a worker that has not heard of that does not say otherwise",
  ],
  liveUntil: ["liveUntil", "when the last of these heartbeats ends, ms"],
  needed: ["needed", "when work last joined an empty line while there was no worker, ms; see line/worker.lua"],
  warmup: ["warmup", 'how long workers took to start: "mean variance samples slots", see line/worker.lua'],
  lost: ["lost", "workers lost while they ran a task"],
  dead: ["dead", "tasks that died"],
  answers: ["V", "how many dead tasks the last calls of `deleteDead` deleted, newest first, see library/call.lua"],
  keptUntil: ["keptUntil", "until when places in line may be kept, see KEYS.kept, ms"],
  virtual: ["virtual", "of a fair line, followed by the class: the place of the task taken last, see line/fair.lua"],
  room: ["room", "of a fair line, followed by the class: the start that newcomers get when there are many line keys"],
  keyed: ["keyed", "of a keyed line, how many tasks of one key may run at once, see line/keyed.lua"],
  rekey: ["rekey", "the score from which it is still to be decided which tasks may start, after a change of the limit"],
  healed: ["healed", "entries without a task that were removed from the line"],
} as const;

/** The short form of each field. */
export const firstOf = (fields: Readonly<Record<string, readonly [string, string]>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, [field]]) => [name, field]));

/** Prefixes of the numbers of a queue's rate buckets, see line/rate.lua. */
export const RATE_LETTERS = {
  accepted: "a",
  finished: "z",
  /** Finished tasks that failed. */
  failed: "e",
  /** Tasks that left their slots without finishing: they run again, or were canceled. */
  returned: "b",
} as const;

/** Prefixes of the call or fence of a verb whose answer is remembered, see library/call.lua. */
export const ANSWER_LETTERS = {
  cancel: "c",
  fail: "f",
  deleteDead: "x",
  lose: "l",
  move: "m",
  release: "r",
  retry: "t",
  update: "u",
  write: "w",
} as const;

/** The letters of the states, in a task's hash and in notices. */
export const STATE_LETTERS = {
  waiting: "w",
  scheduled: "d",
  running: "r",
  retrying: "y",
  succeeded: "s",
  failed: "f",
  canceled: "c",
} as const satisfies Record<State, string>;

/** The other notices. */
export const TASK_NOTICES = {
  ...({ progress: "p", cancelRequested: "k", deleted: "g", output: "o" } as const),
  ...({ groupChanged: "m", groupEnded: "e" } as const),
};

const STATES_BY_LETTER: ReadonlyMap<string, State> = new Map(
  Object.entries(STATE_LETTERS).map(([state, letter]) => [letter, state as State]),
);

/** The state of a letter; null for any other text. */
export const stateOf = (letter: string): State | null => STATES_BY_LETTER.get(letter) ?? null;
