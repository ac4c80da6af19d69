import { isInternalQueue, partitionOfInternal } from "../handler/internal-queues.ts";

/**
 * Every key and channel of Paihao: name → its short form in Redis, its type and its content. TypeScript makes keys with
 * {@link Keys}; the Lua files write `K.task(call, id)`, see library/assemble.ts. The fields of the
 * hashes and the letters of states are in fields.ts.
 *
 * Extras have keys of their own, beside their verbs.
 *
 * All keys of a partition share the hash tag `{prefix:P}`, so that a Redis Cluster keeps them on one node and one script may
 * access them all. A name that a caller chose is always prefixed with `letter:`.
 */
export const KEYS = {
  task: ["t:<id>", "hash", "the task, see TASK_FIELDS"],
  input: ["b:<id>", "string", "its input, when longer than SHARED.inlineInputBytes"],
  result: [
    "r:<id>",
    "string",
    "its result, see encodeResult, when longer than SHARED.inlineResultBytes; PX = result TTL",
  ],
  steps: ["s:<id>", "hash", "its durable steps: name → number, a letter, a space, JSON: see task/attempt.lua"],
  output: ["o:<id>", "list", 'what its handler has written: "run attempt JSON" for each value, in order'],
  attempts: ["v:<id>", "hash", "what its attempts have left, see ATTEMPT_FIELDS; PX = result TTL"],
  waiting: ["w:<queue>", "zset", "waiting tasks: score = class·2^45 + hlc; in a fair line see line/fair.lua"],
  scheduled: ["d:<queue>", "zset", "scheduled and retrying tasks: score = due ms"],
  leases: ["l:<queue>", "zset", "leases of running tasks: score = expiry ms"],
  dead: ["x:<queue>", "zset", "dead letters: score = time of death in ms; capped"],
  finished: ["f:<queue>", "list", "its latest outcomes, newest first: when it ended (ms), a space, id; capped"],
  shares: ["u:<queue>", "hash", 'of a fair line, "class key" → "charge place id", see line/fair.lua'],
  shareEnds: [
    "z:<queue>",
    "zset",
    "its line keys: score = class·2^45 + the virtual time at which a line key is deleted",
  ],
  startable: ["p:<queue>", "zset", "of a keyed queue, the waiting tasks that may start: score as in the line"],
  keyLine: [
    "pk:<queue> <key>",
    "zset",
    "of a keyed queue, the tasks of a line key that have not ended: scores see line/keyed.lua",
  ],
  history: [
    "hs:<queue>",
    "list",
    "its figures at the ends of the latest intervals of 10 s, newest first: see line/history.lua; with a number behind it, the last of every so many intervals; capped, PX",
  ],
  deadlines: [
    "c:<queue>",
    "zset",
    'tasks with a deadline or presence that have not ended, and groups with a presence (":group" follows their ids): score = when the first of both passes, ms',
  ],
  queue: ["q:<queue>", "hash", "hlc, fence, paused, statistics and counters, see QUEUE_FIELDS"],
  workers: ["j:<queue>", "zset", "live workers: score = when they count as gone, ms"],
  slots: ["k:<queue>", "hash", "their slots: worker → slots"],
  about: [
    "ab:<worker>",
    "string",
    "what a worker reports about itself, in the partitions of its queues: its time to live (ms), JSON; PX",
  ],
  request: [
    "m:<queue> …",
    "string",
    "the tasks given to a request for leases over HTTP (worker, reservation), see line/reservation.lua; PX = lease",
  ],
  starts: ["y:<queue>", "list", "times of the last starts, ms, as many as the queue's rate allows in its span"],
  sender: [
    "a:<subject>",
    "string",
    "requests of a key or address in its current span of RATE_LIMIT; PX = the rest of the span",
  ],
  kept: ["h:<queue>", "zset", "ids of later tasks for which a place in line is kept: score = until when, ms"],
  pointers: [
    "moved",
    "zset",
    "the pointers: ids whose tasks are in another partition, see ops/pointer.lua: score = when each is checked, ms",
  ],
  group: ["gr:<group>", "hash", "a group of tasks, see GROUP_FIELDS"],
  members: ["gm:<group>", "zset", "its members: score = the line that brought each, counted through the whole group"],
  memberEnds: ["ge:<group>", "zset", "those that have ended: score = which one it was, from 0"],
  memberStates: [
    "gs:<group>",
    "zset",
    "their states: score = number·SHARED.memberSpan + when it is due, has begun or has ended, ms: see group/group.lua",
  ],
  memberLine: ["gw:<group>", "zset", "those that wait in line: score as in the line"],
  groups: [
    "groups",
    "zset",
    "groups that are open, and those whose members are being canceled: score = when to close or to go on, ms",
  ],
  events: ["events", "stream", "what happened to the deployment, see ops/event.lua; capped; in partition 0 only"],
  remoteEvents: [
    "remoteEvents",
    "list",
    "those about programs that lease tasks over HTTP; capped; in partition 0 only",
  ],
  states: [
    "states",
    "hash",
    "its states that last, each with a value; when somebody last looked for lost workers, and since when none is lost; in partition 0 only",
  ],
  refusals: [
    "refusals",
    "hash",
    "while the store is full: since when, when it last refused a submission, and how many it has refused to each process; in partition 0 only",
  ],
  incidents: [
    "incidents",
    "hash",
    "what is wrong, as JSON, and as of when, ms; and which process looks for it until when; in partition 0 only",
  ],
  deploys: [
    "deploys",
    "list",
    "versions of the handlers, the newest first: when its first worker started (ms), a space, the version; capped; in partition 0 only",
  ],
  present: ["present", "zset", "the workers of all queues: score = when they count as lost, ms; in partition 0 only"],
  presentAbout: [
    "presentAbout",
    "hash",
    "what these and lost ones have reported about themselves; in partition 0 only",
  ],
  keyUses: [
    "keyUses",
    "zset",
    "API keys: score = the hour in which each was last used, ms; capped; in partition 0 only",
  ],
  lost: ["lost", "zset", "lost workers: score = when they were found lost, ms; for an hour; in partition 0 only"],
  losses: [
    "lo:<worker>",
    "zset",
    "tasks that a worker has lost in the last minute: score = when, ms; in partition 0 only; capped, PX",
  ],
  queues: ["queues", "hash", 'all queues: queue → "registered ms, losses a task survives, and three TTLs"'],
  partitions: ["partitions", "string", "number of partitions, in partition 0 only"],
  version: ["version", "string", "version of the data, in partition 0 only"],
  release: ["release", "string", "the release that has used it last, in partition 0 only"],
  secret: ["secret", "string", "the deployment's secret, made at its first start, in partition 0 only"],
  probe: ["probe", "string", "on which a start tries commands, see ops/deployment.lua; deleted at once"],
  ticked: [
    "ticked",
    "hash",
    "when a tick last ran, and the latest gap between two: see ops/tick.lua; the lease of each queue, and how long its workers take to start if its handler says; which process has sampled which interval; and the libraries that starts have used, newest first",
  ],
  work: [
    "n:<queue>",
    "channel",
    '"there is work" (empty), or "cancel <id>", "deadline <id>" or "abandoned <id>" for the worker that runs it',
  ],
  wake: [
    "wk:<queue>",
    "zset",
    "one member when work has arrived in an empty line, or a reservation has left some: taken by a request that waits for it, see standby.ts",
  ],
  notices: [
    "e:<process>",
    "channel",
    "changes of the tasks whose records name the process as a listener, see notice.ts",
  ],
} as const;

/** The indexes of a queue. */
export const INDEXES = ["waiting", "scheduled", "leases", "dead"] as const satisfies (keyof typeof KEYS)[];
export type Index = (typeof INDEXES)[number];

/** The values of a task that may be large and are then read outside scripts. */
export type LargeValue = "result" | "input";

/** The start of each kind of Redis key, after the partition's tag: "w:", "queues". */
export const startsOf = <Kind extends string>(keys: Readonly<Record<Kind, readonly [string, ...string[]]>>) =>
  Object.fromEntries(
    Object.entries<readonly [string, ...string[]]>(keys).map(([kind, [form]]) => [kind, form.replace(/<.*/, "")]),
  ) as Readonly<Record<Kind, string>>;

export const START = startsOf(KEYS);

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

  /** The partition to which a name or an id leads: FNV-1a, so that all processes agree. A task is in that of its queue. */
  partitionOf(id: string): number {
    if (this.partitions === 1) return 0;
    // Tasks that follow from a task (its webhook, its undo) have ids "<id>:…" and are in the same partition.
    const end = id.indexOf(":");
    const length = end < 0 ? id.length : end;
    let hash = 0x811c9dc5;
    for (let i = 0; i < length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
    return (hash >>> 0) % this.partitions;
  }

  /**
   * The partition of a queue, and of everything that belongs to its tasks. What follows from a task (its webhook, its undo) is there too: the
   * server's own queues name their partition.
   */
  partitionOfQueue(queue: string): number {
    if (this.partitions === 1) return 0;
    return isInternalQueue(queue) ? partitionOfInternal(queue) % this.partitions : this.partitionOf(queue);
  }

  /** The tag of the partition of a queue. */
  tagOfQueue(queue: string): string {
    return this.tag(this.partitionOfQueue(queue));
  }

  /**
   * Makes an id that leads to a partition by its hash, so that a task there needs no pointer.
   * @param make called with 0, 1, … until its id does
   */
  idIn(partition: number, make: (n: number) => string): string {
    for (let n = 0; ; n += 1) {
      const id = make(n);
      if (this.partitionOf(id) === partition) return id;
    }
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

  /** The start of the keys of a kind in one partition. */
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

  /** The key of the release that has used it last. */
  get release(): string {
    return this.#of("release", 0);
  }

  /** The key that counts the requests of one sender; senders are spread over the partitions. */
  requests(subject: string): string {
    return this.#of("sender", this.partitionOf(subject), subject);
  }

  #of(kind: keyof typeof KEYS, partition: number, name = ""): string {
    return this.tag(partition) + START[kind] + name;
  }
}
