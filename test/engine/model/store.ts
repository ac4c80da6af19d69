import type { Connection } from "../../../src/store/connection.ts";
import { SHARED } from "../../../src/store/constants.ts";
import { TASK_FIELDS } from "../../../src/store/fields.ts";
import { INDEXES, type Index, type KEYS, type Keys } from "../../../src/store/keys.ts";
import { namesOf } from "../../../src/store/library/assemble.ts";
import { CORE } from "../../../src/store/library/core.ts";
import type { Scripts } from "../../../src/store/library/scripts.ts";
import { isOutcome } from "../../../src/task.ts";
import type { Model } from "./model.ts";
import { DUE_NOW, LONG_AGO } from "./task.ts";

/** Everything that the store holds of one task. Times to live are ms; -1 for none, -2 for a key that is not there. */
export interface StoredTask {
  readonly fields: Readonly<Partial<Record<keyof typeof TASK_FIELDS, string>>>;
  readonly ttl: number;
  readonly input: string;
  readonly inputTtl: number;
  readonly result: string;
  readonly resultTtl: number;
  readonly steps: Readonly<Record<string, string>>;
  readonly stepsTtl: number;
  /** As stored: run, attempt, JSON. */
  readonly output: readonly string[];
  readonly outputTtl: number;
  readonly attemptsTtl: number;
}

/** Everything that the store holds of one queue. */
export interface StoredQueue {
  /** Each is [id, score, …] in its order. */
  readonly indexes: Readonly<Record<Index, readonly string[]>>;
  readonly fields: Readonly<Record<string, string>>;
  /** [id, score, …] of the tasks that may start, if the queue is keyed. */
  readonly startable: readonly string[];
  /** Of a fair line, "class key" → "charge place id". */
  readonly shares: Readonly<Record<string, string>>;
  /** [id, score, …] of the tasks that time will cancel. */
  readonly deadlines: readonly string[];
}

/** One instant of one partition. */
export interface Dump {
  readonly now: number;
  readonly tasks: ReadonlyMap<string, StoredTask>;
  readonly queues: ReadonlyMap<string, StoredQueue>;
}

const DUMP = `${namesOf([CORE]).join("")}
local call, ids, queues = { base = KEYS[1] }, cjson.decode(ARGV[1]), cjson.decode(ARGV[2])
local function hash(key)
  local flat, map = redis.call('HGETALL', key), { [''] = '' }
  for n = 1, #flat, 2 do map[flat[n]] = flat[n + 1] end
  return map
end
local function inputs(id)
  local parts = redis.call('HMGET', K.task(call, id), F.input1, F.input2, F.input3, F.input4)
  for n, part in ipairs(parts) do parts[n] = part or '' end
  return parts
end
local out = { tasks = { [''] = '' }, queues = { [''] = '' } }
for _, id in ipairs(ids) do
  out.tasks[id] = {
    fields = hash(K.task(call, id)), ttl = redis.call('PTTL', K.task(call, id)),
    input = redis.call('GET', K.input(call, id)) or table.concat(inputs(id)), inputTtl = redis.call('PTTL', K.input(call, id)),
    result = redis.call('GET', K.result(call, id)) or '', resultTtl = redis.call('PTTL', K.result(call, id)),
    steps = hash(K.steps(call, id)), stepsTtl = redis.call('PTTL', K.steps(call, id)),
    output = { '', unpack(redis.call('LRANGE', K.output(call, id), 0, -1)) }, outputTtl = redis.call('PTTL', K.output(call, id)),
    attemptsTtl = redis.call('PTTL', K.attempts(call, id)),
  }
end
for _, queue in ipairs(queues) do
  local indexes = {}
  for name, start in pairs({ waiting = P.waiting, scheduled = P.scheduled, leases = P.leases, dead = P.dead }) do
    -- An empty table would be encoded as an object.
    indexes[name] = { '', unpack(redis.call('ZRANGE', call.base .. start .. queue, 0, -1, 'WITHSCORES')) }
  end
  local deadlines = { '', unpack(redis.call('ZRANGE', K.deadlines(call, queue), 0, -1, 'WITHSCORES')) }
  local startable = { '', unpack(redis.call('ZRANGE', K.startable(call, queue), 0, -1, 'WITHSCORES')) }
  out.queues[queue] = {
    fields = hash(K.queue(call, queue)), indexes = indexes, startable = startable, shares = hash(K.shares(call, queue)), deadlines = deadlines,
  }
end
local time = redis.call('TIME')
out.now = time[1] * 1000 + math.floor(time[2] / 1000)
return cjson.encode(out)`;

/** Reads what one partition holds of some tasks and queues. */
export async function dump(
  redis: Connection,
  tag: string,
  ids: readonly string[],
  queues: readonly string[],
): Promise<Dump> {
  const reply = (await redis.eval(DUMP, 1, tag, JSON.stringify(ids), JSON.stringify(queues))) as string;
  // A Map keeps `__proto__` an ordinary name; JSON.parse does so too, where an object literal would not.
  const {
    now,
    tasks,
    queues: of,
  } = JSON.parse(reply) as {
    now: number;
    tasks: Record<string, StoredTask>;
    queues: Record<string, StoredQueue>;
  };
  const named = <T>(all: Record<string, T>) => new Map(Object.entries(all).filter(([name]) => name !== ""));
  return {
    now,
    tasks: new Map(
      [...named(tasks)].map(([id, task]) => [
        id,
        { ...task, fields: byName(task.fields), steps: withoutMark(task.steps), output: task.output.slice(1) },
      ]),
    ),
    queues: new Map(
      [...named(of)].map(([name, { fields, indexes, startable, shares, deadlines }]) => {
        const entries = INDEXES.map((index) => [index, indexes[index].slice(1)]);
        const read = { fields: withoutMark(fields), indexes: Object.fromEntries(entries) };
        return [
          name,
          { ...read, startable: startable.slice(1), shares: withoutMark(shares), deadlines: deadlines.slice(1) },
        ];
      }),
    ),
  };
}

const FIELD_NAMES = new Map(Object.entries(TASK_FIELDS).map(([name, [field]]) => [field as string, name]));

/** The fields of a task by the names that fields.ts gives them; one that it does not know keeps its own. */
function byName(fields: Readonly<Record<string, string>>): StoredTask["fields"] {
  const named = Object.entries(withoutMark(fields)).map(([field, value]) => [FIELD_NAMES.get(field) ?? field, value]);
  return Object.fromEntries(named);
}

function withoutMark(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([name]) => name !== ""));
}

const INPUT_PARTS = [TASK_FIELDS.input1, TASK_FIELDS.input2, TASK_FIELDS.input3, TASK_FIELDS.input4].map(
  ([field]) => field,
);

/** Lets time pass without waiting: what Redis's clock would come to do is written, for one task. */
export class TimeTravel {
  readonly #redis: Connection;
  readonly #keys: Keys;
  readonly #tag: string;
  readonly #model: Model;

  constructor(redis: Connection, keys: Keys, model: Model) {
    this.#redis = redis;
    this.#keys = keys;
    this.#tag = keys.tag(0);
    this.#model = model;
  }

  #key(kind: keyof typeof KEYS, name = ""): string {
    return this.#keys.start(this.#tag, kind) + name;
  }

  /** The lease of a running task ended `when`, or the delay of a scheduled or retrying one. */
  async elapse(id: string, when: number): Promise<void> {
    const task = this.#model.tasks.get(id);
    if (task?.state === "running") {
      task.lapsed = when;
      await this.#redis.zadd(this.#keys.index(this.#tag, "leases", task.queue), "XX", when, id);
    } else if (task?.state === "scheduled" || task?.state === "retrying") {
      task.due = when;
      await this.#redis.zadd(this.#keys.index(this.#tag, "scheduled", task.queue), "XX", when, id);
      if (task.group !== null) await this.#dueInGroup(task.group, id, when);
    }
  }

  /** Gives what is due at once a time that the model knows. */
  async settleDue(): Promise<void> {
    for (const { id, due } of this.#model.tasks.values()) if (due === DUE_NOW) await this.elapse(id, LONG_AGO);
  }

  /** A group says of its member when it is due. */
  async #dueInGroup(group: string, id: string, when: number): Promise<void> {
    const states = this.#key("memberStates", group);
    const score = Number(await this.#redis.zscore(states, id));
    await this.#redis.zadd(states, "XX", score - (score % SHARED.memberSpan) + when, id);
  }

  /** The deadline of a task that has not ended passed `when`. */
  async late(id: string, when: number): Promise<void> {
    const task = this.#model.tasks.get(id);
    if (!task || task.deadline === null || task.ends === null) return;
    Object.assign(task, { deadline: when, ends: when });
    await this.#redis.hset(this.#key("task", id), TASK_FIELDS.deadline[0], when);
    await this.#redis.zadd(this.#key("deadlines", task.queue), "XX", when, id);
  }

  /** The presence of a task that has not ended, or of its group, ended `when`. */
  async absent(id: string, when: number): Promise<void> {
    const task = this.#model.tasks.get(id);
    if (!task) return;
    const { group, queue } = task;
    if (group === null ? !task.present || task.ends === null : !this.#model.groups.isPresent(group)) return;
    if (group === null) task.ends = when;
    else this.#model.groups.looked(group, when);
    await this.#redis.zadd(this.#key("deadlines", queue), "XX", when, group === null ? id : `${group}:group`);
  }

  /** The result of a finished task expires; of a dead one everything that its TTL keeps. */
  async expire(id: string, when: number): Promise<void> {
    const task = this.#model.tasks.get(id);
    if (!task || !isOutcome(task.state)) return;
    Object.assign(task, { expired: !task.deleted, result: null });
    if (this.#model.isApart(task)) task.inputKept = false;
    task.steps.clear();
    task.output = null;
    task.errors = [];
    await this.#redis.hset(this.#key("task", id), TASK_FIELDS.expires[0], when);
    await this.#redis.hdel(this.#key("task", id), ...INPUT_PARTS);
    const kinds = ["result", "input", "steps", "output", "attempts"] as const;
    await this.#redis.unlink(...kinds.map((kind) => this.#key(kind, id)));
    if (task.died === null) return;
    task.died = when;
    await this.#redis.zadd(this.#keys.index(this.#tag, "dead", task.queue), "XX", when, id);
  }

  /** The tombstone of a finished task goes; a dead letter's cannot go before its entry. */
  async remove(id: string): Promise<void> {
    const task = this.#model.tasks.get(id);
    if (!(task?.expired || task?.deleted) || task.died !== null) return;
    this.#model.groups.left(task);
    this.#model.tasks.delete(id);
    await this.#redis.unlink(this.#key("task", id));
  }

  /**
   * The last tick ran just now, or before a gap in which no lease could be renewed. Returns before when leases must have ended to
   * count as lost in the next one.
   */
  async sinceTick(gap: boolean): Promise<number> {
    // A time to come is one of a clock that was set back since, and no gap.
    const at = gap ? LONG_AGO + 1 : Number.MAX_SAFE_INTEGER;
    await this.#redis.hset(this.#key("ticked"), { at, gaps: 0 });
    await this.#redis.hdel(this.#key("ticked"), "gap from", "gap to");
    return gap ? at + 1 : Infinity;
  }

  /** The members of a group, in the order in which they are canceled together. */
  membersOf(group: string): Promise<string[]> {
    return this.#redis.zrange(this.#key("memberStates", group), "0", "-1");
  }

  /** The span of a queue's rate passes. */
  async passSpan(queue: string): Promise<void> {
    Object.assign(this.#model.queue(queue), { starts: 0, span: this.#model.queue(queue).span + 1 });
    await this.#redis.unlink(this.#key("starts", queue));
  }
}

/** Verbs that answer another thing when they are sent again: a replay, what has ended already, nothing that is due. */
const REPLAYED = ["submit", "complete", "tick"];
/** All verbs that change something and that a run of the model calls. */
export const PLAYED: readonly string[] = [
  ...[...REPLAYED, "update", "move", "reserve", "fail", "release", "begin", "renew", "lose", "cancel", "retry"],
  ...["deleteDead", "pause", "progress", "write", "step", "attend", "openGroup", "cancelGroup"],
];

/**
 * Sends every call twice, as a connection does that lost the first reply. The second reply must be as good as the first, so it is the one that is
 * given; of a reservation the tasks, since it knows only once how many are left.
 */
export function sendingTwice(scripts: Scripts, twice: () => boolean): Scripts {
  const calls = PLAYED.map((verb) => {
    const send = scripts[verb as "tick"] as (...args: unknown[]) => Promise<unknown>;
    return [
      verb,
      async (...args: unknown[]) => {
        const first = send(...args);
        if (!twice()) return first;
        const [reply, again] = await Promise.all([first, send(...args)]);
        if (verb === "reserve") return { ...(reply as object), tasks: (again as { tasks: unknown }).tasks };
        return REPLAYED.includes(verb) ? reply : again;
      },
    ];
  });
  return { ...scripts, ...Object.fromEntries(calls) };
}
