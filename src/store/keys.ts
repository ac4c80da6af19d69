import type { Outcome, State } from "../task.ts";

/**
 * Every key and channel of Paihao, and the fields of its hashes: name → what Redis calls it, and what it holds. This is the
 * single source. TypeScript makes keys by {@link Keys}; the Lua files write `K.task(id)`, `F.state`, `S.waiting`, and
 * scripts/lua-names.ts puts key, field and letter in their place when a script is loaded.
 *
 * All keys of a partition share the hash tag `{prefix:P}`, so that a Redis Cluster keeps them on one node and one script
 * may touch them all. A name that a caller chose always stands behind `letter:`.
 */
export const KEYS = {
  task: ["t:<id>", "hash", "the task, see TASK_FIELDS"],
  input: ["b:<id>", "string", "its input, when longer than INLINE_BYTES"],
  result: ["r:<id>", "string", "its result: one JSON line (status, type, headers), then the body; PX = result TTL"],
  steps: ["s:<id>", "hash", "its durable steps: name → number, a letter, a space, JSON: see lua/step.lua"],
  waiting: ["w:<queue>", "zset", "waiting tasks: score = class·2^45 + hlc"],
  scheduled: ["d:<queue>", "zset", "scheduled and retrying tasks: score = due ms"],
  leases: ["l:<queue>", "zset", "leases of running tasks: score = expiry ms"],
  dead: ["x:<queue>", "zset", "dead letters: score = time of death in ms; capped"],
  queue: ["q:<queue>", "hash", "hlc, fence, paused, statistics and counters, see QUEUE_FIELDS"],
  workers: ["j:<queue>", "zset", "live workers: score = when they count as gone, ms"],
  slots: ["k:<queue>", "hash", "their slots: worker → slots"],
  reservations: ["v:<queue>", "hash", 'last reservations: worker and lane → "reservation, fence of the first id, ids"'],
  request: [
    "m:<queue> …",
    "string",
    "what a request for work over HTTP was given (worker, reservation), see lua/lib/request.lua; PX = lease",
  ],
  starts: ["y:<queue>", "list", "times of the last starts, ms, as many as the queue's rate allows in its span"],
  permits: [
    "g:<queue>",
    "zset",
    "permits to start, where the queue has a rate and several partitions, in one of them: score = ms",
  ],
  sender: [
    "a:<subject>",
    "string",
    "requests of a key or an address in its span of RATE_LIMIT; PX = what is left of it",
  ],
  allocation: ["i:<id>", "string", "an id that was allocated to a task to come: JSON of queue and caller; PX"],
  allocated: ["h:<queue>", "zset", "the allocated ids of a queue: score = when they expire, ms"],
  queues: ["queues", "hash", 'all queues: queue → "registered ms, losses a task survives, and three TTLs"'],
  partitions: ["partitions", "string", "number of partitions, in partition 0 only"],
  secret: ["secret", "string", "the deployment's secret, made at its first start, in partition 0 only"],
  ticked: ["ticked", "hash", "when a tick last ran, and the grace after a gap: see lua/lib/grace.lua"],
  work: ["n:<queue>", "channel", '"there is work" (empty), or "cancel <id>" for the worker that runs it'],
  changes: ["e:<id>", "channel", "the task changed: the letter of its state, or one of TASK_NOTICES"],
} as const;

/** A longer input is a key of its own: in the hash it would cost the task Redis's compact encoding. */
export const INLINE_BYTES = 64;

/**
 * The fields of a task; a field that has its default is left out. Only `errors`, `answers`, `progress` and `query` may be longer
 * than 64 bytes and so cost the task its compact encoding: the first two only after failures, the others where a caller wants it.
 */
export const TASK_FIELDS = {
  queue: ["q", "queue"],
  state: ["s", "letter of its state, see STATE_LETTERS"],
  created: ["c", "created, ms"],
  revision: ["v", "how often its input was replaced; default 0"],
  input: ["i", "input, up to INLINE_BYTES"],
  digest: ["h", "digest of a longer input, which is a key of its own"],
  mediaType: ["m", "media type of the input; default application/json"],
  query: ["u", "query parameters for the handler, JSON"],
  caller: ["z", "caller"],
  attempts: ["a", "attempts begun; default 0"],
  priority: ["O", "priority class; default PRIORITY.default"],
  place: ["o", "place in line: its score there, kept since the task left it; of a scheduled task only its class"],
  fence: ["f", "fence of the last reservation"],
  begun: ["b", "begun, ms"],
  worker: ["w", "worker that runs it, or was the last to run it"],
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
  answers: ["V", "what the last calls that changed it were answered, newest first, see lua/lib/answers.lua"],
  webhook: ["W", "URL that is told of its end"],
  undo: ["U", "1 when what it has done can be undone"],
  stepBytes: ["S", "bytes of its steps, once it has some"],
  undoing: ["Y", "who undoes its work: 1 <id>:undo:<queue>, 2 the same with a colon and the fence; of dead tasks"],
  cancel: ["k", "1 when cancel is requested of a running task"],
  ended: ["e", "ended, ms"],
  expires: ["x", "expiry of the result, ms"],
  destroyed: ["g", "1 when the result was destroyed"],
  errorCode: ["y", "error code of a failed task"],
  errors: ["E", "last errors, JSON array, newest first, truncated"],
} as const;

/** The fields of a queue, beside the rate buckets of lua/lib/line.lua. */
export const QUEUE_FIELDS = {
  hlc: ["hlc", "last hybrid clock value: unique, grows, 16 a millisecond"],
  fence: ["fence", "last fence"],
  paused: ["paused", "1 when no work is to be taken"],
  mean: ["mean", "exponentially weighted mean of the service time, ms"],
  variance: ["variance", "its variance, ms²"],
  samples: ["samples", "how many tasks the mean has seen"],
  total: ["total", "sum of all service times, ms"],
  foretold: ["foretold", "how far the mean was off as a forecast, see lua/lib/service.lua"],
  workers: ["workers", "live workers at the last heartbeat"],
  slots: ["slots", "their slots"],
  liveUntil: ["liveUntil", "when the last of these heartbeats ends, ms"],
  lost: ["lost", "workers lost with a task in hand"],
  lostAt: ["lostAt", "when one was lost last, ms"],
  dead: ["dead", "tasks that died"],
  answers: ["V", "how many dead tasks the last calls of forget.lua forgot, newest first, see lua/lib/answers.lua"],
  handedUntil: ["handedUntil", "until when allocated ids may wait for their tasks, ms"],
  healed: ["healed", "entries without a task that were removed from the line"],
} as const;

/** What stands before the number of a bucket in which a queue counts, see lua/lib/line.lua. */
export const RATE_LETTERS = { accepted: "a", finished: "z" } as const;

/** What stands before the call, or the fence, of a verb whose answer is remembered, see lua/lib/answers.lua. */
export const ANSWER_LETTERS = {
  cancel: "c",
  fail: "f",
  forget: "x",
  lose: "l",
  release: "r",
  retry: "t",
  update: "u",
} as const;

/** What a task's state is called in its hash and on its channel. */
export const STATE_LETTERS = {
  waiting: "w",
  scheduled: "d",
  running: "r",
  retrying: "y",
  succeeded: "s",
  failed: "f",
  canceled: "c",
} as const satisfies Record<State, string>;

/** What else is told on a task's channel. */
export const TASK_NOTICES = { progress: "p", cancelRequested: "k", destroyed: "g" } as const;

const STATES_BY_LETTER: ReadonlyMap<string, State> = new Map(
  Object.entries(STATE_LETTERS).map(([state, letter]) => [letter, state as State]),
);

/** The state of a letter; null where it is none. */
export const stateOf = (letter: string): State | null => STATES_BY_LETTER.get(letter) ?? null;

const ENDS: ReadonlySet<string> = new Set([
  ...(["succeeded", "failed", "canceled"] satisfies Outcome[]).map((outcome) => STATE_LETTERS[outcome]),
  TASK_NOTICES.destroyed,
]);

/** Whether a notice on a task's channel tells that it has ended, or that its result was destroyed. */
export const tellsOfEnd = (notice: string): boolean => ENDS.has(notice);

/** The indexes of a queue. */
export const INDEXES = ["waiting", "scheduled", "leases", "dead"] as const satisfies (keyof typeof KEYS)[];
export type Index = (typeof INDEXES)[number];

/** The values of a task that may be large and are read outside of scripts. */
export type LargeValue = "result" | "input";

/** What each kind of key begins with, behind the partition's tag: "w:", "queues". */
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

  /** The partition of a task: FNV-1a of its id, so that every process agrees. */
  partitionOf(id: string): number {
    if (this.partitions === 1) return 0;
    // What follows from a task (its webhook, its undoing) has an id of "<id>:…" and lives beside it.
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
  value(value: LargeValue, id: string): string {
    return this.#of(value, this.partitionOf(id), id);
  }

  /** The channel on which changes of a task are told. */
  taskChannel(id: string): string {
    return this.#of("changes", this.partitionOf(id), id);
  }

  /** The channel on which a partition tells the workers of a queue that there is work. */
  workChannel(partition: number, queue: string): string {
    return this.#of("work", partition, queue);
  }

  /** An index of a queue in one partition. */
  index(tag: string, index: Index, queue: string): string {
    return `${tag}${START[index]}${queue}`;
  }

  /** What the keys of a kind in one partition begin with. */
  start(tag: string, kind: keyof typeof KEYS): string {
    return tag + START[kind];
  }

  /** Where the number of partitions is written. */
  get claim(): string {
    return this.#of("partitions", 0);
  }

  /** Where the requests of one sender are counted; senders are spread over the partitions. */
  requests(subject: string): string {
    return this.#of("sender", this.partitionOf(subject), subject);
  }

  #of(kind: keyof typeof KEYS, partition: number, name = ""): string {
    return this.tag(partition) + START[kind] + name;
  }
}
