/**
 * Every key and channel that Paihao uses, and what is in it. This is the only place where keys are made in TypeScript;
 * the Lua files are given a partition's tag as KEYS[1] and put the same kinds behind it.
 *
 * All keys of a partition share the hash tag `{prefix:P}`, so that a Redis Cluster keeps them on one node and one script
 * may touch them all. A name that a caller chose always stands behind `kind:`.
 *
 * | key             | type    | content                                                                              |
 * |-----------------|---------|--------------------------------------------------------------------------------------|
 * | `t:<id>`        | hash    | the task, see {@link TASK_FIELDS}                                                    |
 * | `b:<id>`        | string  | its input, when longer than {@link INLINE_BYTES}                                     |
 * | `r:<id>`        | string  | its result: one JSON line (status, type, headers), then the body; PX = result TTL    |
 * | `s:<id>`        | hash    | its durable steps: name → number, a letter, a space, JSON: see lua/step.lua          |
 * | `w:<queue>`     | zset    | waiting: score = class·2^45 + hlc                                                    |
 * | `d:<queue>`     | zset    | scheduled and retrying: score = due ms                                               |
 * | `l:<queue>`     | zset    | leases: score = expiry ms                                                            |
 * | `x:<queue>`     | zset    | dead letters: score = time of death in ms; capped                                    |
 * | `q:<queue>`     | hash    | hlc, fence, paused, statistics and counters, see {@link QUEUE_FIELDS}                |
 * | `j:<queue>`     | zset    | live workers: score = when they count as gone, ms                                    |
 * | `k:<queue>`     | hash    | their slots: worker → slots                                                          |
 * | `v:<queue>`     | hash    | last reservations: worker and lane → "reservation, fence of the first id, ids"        |
 * | `m:<queue> …`   | string  | what a request for work over HTTP was given (worker, reservation), see lua/lib/request.lua; PX = lease |
 * | `y:<queue>`     | list    | times of the last starts, ms, as many as the queue's rate allows in its span          |
 * | `g:<queue>`     | zset    | permits to start, where the queue has a rate and several partitions, in one of them: score = ms |
 * | `a:<subject>`   | string  | requests of a key or an address in its span of RATE_LIMIT; PX = what is left of it   |
 * | `i:<id>`        | string  | an id that a caller was given for a task to come: JSON of queue and caller; PX       |
 * | `h:<queue>`     | zset    | the ids of a queue that were handed out: score = when they are over, ms              |
 * | `queues`        | hash    | all queues there are: queue → "registered ms, losses a task survives, and three TTLs" |
 * | `partitions`    | string  | number of partitions, in partition 0 only                                            |
 * | `secret`        | string  | the deployment's secret, made at its first start, in partition 0 only                 |
 * | `ticked`        | hash    | when a tick last ran, and the grace after a gap: see lua/lib/grace.lua               |
 * | `n:<queue>`     | channel | "there is work" (empty), or "cancel <id>" for the worker that runs it                |
 * | `e:<id>`        | channel | "this task changed": the letter of its state, or "p" for progress                    |
 */

/** A longer input is a key of its own: in the hash it would cost the task Redis's compact encoding. */
export const INLINE_BYTES = 64;

/**
 * The fields of `t:<id>`; a field that has its default is left out. Only `E`, `V`, `p` and `u` may be longer than 64
 * bytes and so cost the task its compact encoding: the first two are so only after failures, the others where a caller wants it.
 */
export const TASK_FIELDS = {
  q: "queue",
  s: "state: w waiting, d scheduled, r running, y retrying, s succeeded, f failed, c canceled",
  c: "created, ms",
  v: "how often its input was replaced; default 0",
  i: "input, up to 64 bytes",
  h: "digest of a longer input, which is in b:<id>",
  m: "media type of the input; default application/json",
  u: "query parameters for the handler, JSON",
  z: "caller",
  a: "attempts begun; default 0",
  O: "priority class; default 3",
  o: "place in line: the score in w:, kept since the task left it; of a scheduled task only its class",
  f: "fence of the last reservation",
  b: "begun, ms",
  w: "worker that runs it, or was the last to run it",
  l: "workers lost while its handler ran; default 0",
  n: "fence of the reservation under which its worker has yet to say that the handler begins: until then no loss counts",
  N: "how often it was reserved and released since its last loss though its handler had not begun; default 0",
  p: "progress: percent, a space, message",
  L: "lease, ms, as it was last taken over HTTP",
  V: "what the last calls that changed it were answered, newest first; see the scripts' part on answers",
  W: "URL that is told of its end",
  U: "1 when what it has done can be undone",
  S: "bytes of its steps, once it has some",
  Y: "who undoes its work: 1 <id>:undo:<queue>, 2 the same with a colon and the fence; of dead tasks",
  k: "1 when cancel is requested of a running task",
  e: "ended, ms",
  x: "expiry of the result, ms",
  g: "1 when the result was destroyed",
  y: "error code of a failed task",
  E: "last errors, JSON array, newest first, truncated",
} as const;

/** The fields of `q:<queue>`, beside the rate buckets `a0…a6` (accepted) and `z0…z6` (finished) of ten seconds each. */
export const QUEUE_FIELDS = {
  hlc: "last hybrid clock value: unique, grows, 16 a millisecond",
  fence: "last fence",
  paused: "1 when no work is to be taken",
  mean: "exponentially weighted mean of the service time, ms",
  variance: "its variance, ms²",
  samples: "how many tasks the mean has seen",
  total: "sum of all service times, ms",
  foretold: "how far the mean was off as a forecast, kept by the script that finishes tasks",
  workers: "live workers at the last heartbeat",
  slots: "their slots",
  liveUntil: "when the last of these heartbeats ends, ms",
  lost: "workers lost with a task in hand",
  lostAt: "when one was lost last, ms",
  dead: "tasks that died",
  V: "how many the last calls forgot that forget dead tasks, newest first; see the scripts' part on answers",
  handedUntil: "until when ids that were handed out may wait for their tasks, ms",
  healed: "entries without a task that were removed from the line",
} as const;

/** Letters of `t:<id>`'s state. */
export const STATE_LETTERS = {
  w: "waiting",
  d: "scheduled",
  r: "running",
  y: "retrying",
  s: "succeeded",
  f: "failed",
  c: "canceled",
} as const;

/** Kinds of keys that hold one value of a task: its result, its input. */
export type ValueKind = "r" | "b";

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
  value(kind: ValueKind, id: string): string {
    return `${this.tag(this.partitionOf(id))}${kind}:${id}`;
  }

  /** The channel on which changes of a task are told. */
  taskChannel(id: string): string {
    return `${this.tag(this.partitionOf(id))}e:${id}`;
  }

  /** The channel on which a partition tells the workers of a queue that there is work. */
  workChannel(partition: number, queue: string): string {
    return `${this.tag(partition)}n:${queue}`;
  }

  /** An index of a queue in one partition. */
  index(tag: string, kind: "w" | "d" | "l" | "x", queue: string): string {
    return `${tag}${kind}:${queue}`;
  }

  /** Where the number of partitions is written. */
  get claim(): string {
    return `${this.tag(0)}partitions`;
  }

  /** Where the requests of one sender are counted; senders are spread over the partitions. */
  requests(subject: string): string {
    return `${this.tag(this.partitionOf(subject))}a:${subject}`;
  }
}
