import type { State } from "../task.ts";

/**
 * Every key and channel of Paihao, and the fields of its hashes: name → its short form in Redis, and its content. This is the
 * single source. TypeScript makes keys with {@link Keys}; the Lua files write `K.task(id)`, `F.state`, `S.waiting`, which
 * scripts/lua-names.ts replaces with key, field and letter when a script is loaded.
 *
 * All keys of a partition share the hash tag `{prefix:P}`, so that a Redis Cluster keeps them on one node and one script may
 * access them all. A name that a caller chose is always prefixed with `letter:`.
 */
export const KEYS = {
  task: ["t:<id>", "hash", "the task, see TASK_FIELDS"],
  input: ["b:<id>", "string", "its input, when longer than SHARED.inlineInputBytes"],
  result: ["r:<id>", "string", "its result, see result.ts, when longer than SHARED.inlineResultBytes; PX = result TTL"],
  steps: ["s:<id>", "hash", "its durable steps: name → number, a letter, a space, JSON: see lua/step.lua"],
  output: ["o:<id>", "list", 'what its handler has written: "run attempt JSON" for each value, in order'],
  waiting: ["w:<queue>", "zset", "waiting tasks: score = class·2^45 + hlc; in a fair line see lua/lib/fair.lua"],
  scheduled: ["d:<queue>", "zset", "scheduled and retrying tasks: score = due ms"],
  leases: ["l:<queue>", "zset", "leases of running tasks: score = expiry ms"],
  dead: ["x:<queue>", "zset", "dead letters: score = time of death in ms; capped"],
  finished: ["f:<queue>", "list", "its latest outcomes, newest first: when it ended (ms), a space, id; capped"],
  shares: ["u:<queue>", "hash", 'of a fair line, "class key" → "charge place id", see lua/lib/fair.lua'],
  shareEnds: [
    "z:<queue>",
    "zset",
    "its members: score = class·2^45 + the virtual time that ends what is kept of the key",
  ],
  startable: ["p:<queue>", "zset", "of a keyed queue, the waiting tasks that may start: score as in the line"],
  keyLine: [
    "pk:<queue> <key>",
    "zset",
    "of a keyed queue, the tasks that wait for a key or hold it: scores see lua/lib/keyed.lua",
  ],
  history: [
    "hs:<queue>",
    "list",
    "how it stood and what happened to it in the latest intervals of 10 s, newest first: see lua/sample.lua; capped, PX",
  ],
  deadlines: ["c:<queue>", "zset", "tasks with a deadline that have not ended: score = deadline, ms"],
  queue: ["q:<queue>", "hash", "hlc, fence, paused, statistics and counters, see QUEUE_FIELDS"],
  workers: ["j:<queue>", "zset", "live workers: score = when they count as gone, ms"],
  slots: ["k:<queue>", "hash", "their slots: worker → slots"],
  about: [
    "ab:<worker>",
    "string",
    "what a worker tells of itself: its time to live (ms), JSON; in partition 0 only; PX",
  ],
  request: [
    "m:<queue> …",
    "string",
    "the tasks given to a request for leases over HTTP (worker, reservation), see lua/lib/request.lua; PX = lease",
  ],
  starts: ["y:<queue>", "list", "times of the last starts, ms, as many as the queue's rate allows in its span"],
  permits: [
    "g:<queue>",
    "zset",
    "permits to start, if the queue has a rate and there are several partitions; in one of them: score = ms",
  ],
  sender: [
    "a:<subject>",
    "string",
    "requests of a key or address in its current span of RATE_LIMIT; PX = the rest of the span",
  ],
  allocation: ["i:<id>", "string", "an id allocated for a future task: JSON of queue and caller; PX"],
  allocated: ["h:<queue>", "zset", "the allocated ids of a queue: score = when they expire, ms"],
  moved: [
    "moved",
    "zset",
    "the ids whose tasks are in another partition, see lua/point.lua: score = when that is checked, ms",
  ],
  queues: ["queues", "hash", 'all queues: queue → "registered ms, losses a task survives, and three TTLs"'],
  partitions: ["partitions", "string", "number of partitions, in partition 0 only"],
  version: [
    "version",
    "string",
    'version of the data: "version oldest release", see data-version.ts; in partition 0 only',
  ],
  secret: ["secret", "string", "the deployment's secret, made at its first start, in partition 0 only"],
  ticked: [
    "ticked",
    "hash",
    "when a tick last ran, and the grace after a gap: see lua/lib/grace.lua; and who has sampled which interval",
  ],
  work: [
    "n:<queue>",
    "channel",
    '"there is work" (empty), or "cancel <id>" or "deadline <id>" for the worker that runs it',
  ],
  notices: [
    "e:<process>",
    "channel",
    "changes of the tasks whose records name the process as a listener, see notice.ts",
  ],
} as const;

/** A longer input has a digest, and is stored in parts or as a key of its own: as one field it would prevent Redis's compact encoding. */
export const INLINE_BYTES = 64;

/**
 * The fields of a task; a field with its default value is omitted. Only `errors`, `past`, `answers`, `progress`, `query` and `trace` may exceed
 * 64 bytes and so prevent the compact encoding: the first three only after failures, the others only if a caller or handler uses
 * them.
 */
export const TASK_FIELDS = {
  queue: ["q", "queue"],
  state: ["s", "letter of its state, see STATE_LETTERS"],
  created: ["c", "created, ms"],
  revision: ["v", "how often its input was replaced; default 0"],
  input: ["i", "input, up to INLINE_BYTES"],
  digest: ["h", "digest of a longer input, which is in the fields that follow or a key of its own"],
  input1: ["I", "a longer input, see lua/lib/input.lua: the first 64 bytes"],
  input2: ["I2", "the next 64, and so on"],
  input3: ["I3", ""],
  input4: ["I4", ""],
  mediaType: ["m", "media type of the input; default application/json"],
  query: ["u", "query parameters for the handler, JSON"],
  caller: ["z", "caller"],
  trace: ["Z", "trace context of its submitter: traceparent, then, if there is one, a space and tracestate"],
  run: ["f", "its last reservation: fence, begin, attempts, place, worker, see lua/lib/run.lua; default none"],
  priority: ["O", "priority class; default PRIORITY.default"],
  place: ["o", "of a scheduled task, its class as a score"],
  extra: [
    "+",
    "the same as its key as long as it has nothing else that is rare; 1 once it has had any of the fields that few tasks have: all but those of a plain task that runs once and succeeds. Without it they need not be read",
  ],
  lost: ["l", "workers lost while its handler ran; default 0"],
  unbegun: [
    "n",
    "fence of the reservation whose handler has yet to begin, as its worker will report: until then no loss counts",
  ],
  unbegunReleases: [
    "N",
    "how often it was reserved and released since its last loss though its handler had not begun; default 0",
  ],
  progress: ["p", "progress: percent, a space, message"],
  lease: ["L", "lease, ms, as it was last taken over HTTP"],
  share: ["G", 'in a fair line, "weight key"'],
  before: ["B", 'in a fair line, "place id" of the task of its key that joined before it'],
  home: [
    "H",
    "of an id whose task is in another partition, that partition; the record has only queue and caller beside it",
  ],
  key: ["K", 'in a keyed line, "arrival key", see lua/lib/keyed.lua'],
  answers: ["V", "the answers to the last calls that changed it, newest first, see lua/lib/answers.lua"],
  listeners: ["t", "the processes that are notified of its changes, see lua/lib/notify.lua; default none"],
  webhook: ["W", "URL that is told of its end"],
  undo: ["U", "1 when what it has done can be undone"],
  stepBytes: ["S", "bytes of its steps, once it has some"],
  output: [
    "T",
    'bytes of what its handler has written; then, of the last calls of write.lua, newest first, "call=values stored"',
  ],
  restarts: ["J", "how often it was taken back after it had been started; default 0"],
  undoing: [
    "Y",
    "of a dead task, the task that undoes its work: 1 <id>:undo:<queue>, 2 the same with a colon and the fence",
  ],
  deadline: ["D", "deadline, ms"],
  cancel: ["k", "of a running task whose cancel is requested: who asked, SHARED.cancelByCaller or cancelByDeadline"],
  result: ["R", "its result, see result.ts, when short: the first 64 bytes"],
  result2: ["R2", "the next 64, and so on"],
  result3: ["R3", ""],
  result4: ["R4", ""],
  ended: ["e", "ended, ms"],
  expires: ["x", "expiry of the result, ms"],
  destroyed: ["g", "1 when the result was destroyed"],
  errorCode: ["y", "error code of a failed task; of a canceled one SHARED.deadlinePassed, if that is why"],
  errors: ["E", "last errors, JSON array, newest first, truncated"],
  past: ["P", "the attempts that did not end it, newest first, see lua/lib/past.lua; default none"],
} as const;

/** The fields of a queue, beside the rate buckets of lua/lib/rate.lua. */
export const QUEUE_FIELDS = {
  hlc: ["hlc", "last hybrid clock value: unique, grows, 16 a millisecond"],
  fence: ["fence", "last fence"],
  reservation: [
    "r:",
    'with a worker and lane behind it, its last reservation: "reservation, fence of the first id, ids"; so that it can be answered again',
  ],
  paused: ["paused", "1 when no work is to be taken"],
  failures: ["failures", "the latest consecutive failures of its target, see lua/lib/rest.lua"],
  rest: ["rest", "while it rests: since when, until the next probe, how many failed, why"],
  probe: ["probe", "until when the present probe counts, ms, and which request took it"],
  restEnded: ["restEnded", "the probe that ended the last rest"],
  service: [
    "service",
    "exponentially weighted mean (ms) and variance (ms²) of the service times, how many there were, their total (ms): SHARED.serviceFormat",
  ],
  blocks: ["blocks", "what was foretold of the blocks of tasks that go on, see lua/lib/forecast.lua"],
  forecast: [
    "forecast",
    "slow mean of the service time, and how far both means were off as forecasts, see lua/lib/forecast.lua",
  ],
  workers: ["workers", "live workers at the last heartbeat"],
  slots: ["slots", "their slots"],
  liveUntil: ["liveUntil", "when the last of these heartbeats ends, ms"],
  lost: ["lost", "workers lost while they ran a task"],
  lostAt: ["lostAt", "when the last one was lost, ms"],
  dead: ["dead", "tasks that died"],
  answers: ["V", "how many dead tasks the last calls of forget.lua deleted, newest first, see lua/lib/answers.lua"],
  handedUntil: ["handedUntil", "until when allocated ids may wait for their tasks, ms"],
  virtual: [
    "virtual",
    "of a fair line, with the class behind it: the place of what was taken last, see lua/lib/fair.lua",
  ],
  room: [
    "room",
    "of a fair line, with the class behind it: the start at which newcomers find room when many have come",
  ],
  keyed: ["keyed", "of a keyed line, how many tasks of one key may run at once, see lua/lib/keyed.lua"],
  rekey: ["rekey", "from which score on it has yet to be decided who may start, since the limit was changed"],
  healed: ["healed", "entries without a task that were removed from the line"],
} as const;

/** Prefixes of the numbers of a queue's rate buckets, see lua/lib/rate.lua. */
export const RATE_LETTERS = {
  accepted: "a",
  finished: "z",
  /** Of those that finished, the failed. */
  failed: "e",
  /** They have left their slots, but not as finished: to be run again, or canceled. */
  returned: "b",
} as const;

/** Prefixes of the call or fence of a verb whose answer is remembered, see lua/lib/answers.lua. */
export const ANSWER_LETTERS = {
  cancel: "c",
  fail: "f",
  forget: "x",
  lose: "l",
  release: "r",
  retry: "t",
  update: "u",
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
export const TASK_NOTICES = { progress: "p", cancelRequested: "k", destroyed: "g", output: "o" } as const;

const STATES_BY_LETTER: ReadonlyMap<string, State> = new Map(
  Object.entries(STATE_LETTERS).map(([state, letter]) => [letter, state as State]),
);

/** The state of a letter; null for any other text. */
export const stateOf = (letter: string): State | null => STATES_BY_LETTER.get(letter) ?? null;

/** The indexes of a queue. */
export const INDEXES = ["waiting", "scheduled", "leases", "dead"] as const satisfies (keyof typeof KEYS)[];
export type Index = (typeof INDEXES)[number];

/** The values of a task that may be large and are then read outside scripts. */
export type LargeValue = "result" | "input";

/** How each kind of key begins, after the partition's tag: "w:", "queues". */
export const START = Object.fromEntries(
  Object.entries(KEYS).map(([kind, [form]]) => [kind, form.replace(/<.*/, "")]),
) as Readonly<Record<keyof typeof KEYS, string>>;

/** Makes the keys of one deployment: a prefix and a number of partitions. */
export class Keys {
  readonly prefix: string;
  readonly partitions: number;
  /** The tag of every partition; KEYS[1] of all scripts. */
  readonly tags: readonly string[];

  constructor(prefix: string, partitions: number) {
    this.prefix = prefix;
    this.partitions = partitions;
    this.tags = Array.from({ length: partitions }, (_, p) => `{${prefix}:${p}}`);
  }

  /** The partition of a task: FNV-1a of its id, so that all processes agree. */
  partitionOf(id: string): number {
    if (this.partitions === 1) return 0;
    // Tasks that follow from a task (its webhook, its undo) have ids "<id>:…" and are in the same partition.
    const end = id.indexOf(":");
    const length = end < 0 ? id.length : end;
    let hash = 0x811c9dc5;
    for (let i = 0; i < length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
    return (hash >>> 0) % this.partitions;
  }

  tag(partition: number): string {
    const tag = this.tags[partition];
    if (tag === undefined) throw new RangeError(`partition ${partition} of ${this.partitions}`);
    return tag;
  }

  /** The result or the long input of a task. */
  value(value: LargeValue, partition: number, id: string): string {
    return this.#of(value, partition, id);
  }

  /** The channel for the notices of a partition to a process. */
  noticeChannel(partition: number, process: string): string {
    return this.#of("notices", partition, process);
  }

  /** The channel for the workers of a queue in a partition. */
  workChannel(partition: number, queue: string): string {
    return this.#of("work", partition, queue);
  }

  /** An index of a queue in one partition. */
  index(tag: string, index: Index, queue: string): string {
    return `${tag}${START[index]}${queue}`;
  }

  /** How the keys of a kind in one partition begin. */
  start(tag: string, kind: keyof typeof KEYS): string {
    return tag + START[kind];
  }

  /** The key of the number of partitions. */
  get claim(): string {
    return this.#of("partitions", 0);
  }

  /** The key of the version of the data. */
  get dataVersion(): string {
    return this.#of("version", 0);
  }

  /** The key that counts the requests of one sender; senders are spread over the partitions. */
  requests(subject: string): string {
    return this.#of("sender", this.partitionOf(subject), subject);
  }

  #of(kind: keyof typeof KEYS, partition: number, name = ""): string {
    return this.tag(partition) + START[kind] + name;
  }
}
