import { expect } from "chai";
import type { Inspection } from "../../../src/engine/watch/inspect.ts";
import type { GroupInspection } from "../../../src/extras/groups/group-inspection.ts";
import { SHARED } from "../../../src/store/constants.ts";
import { RATE_LETTERS, stateOf } from "../../../src/store/fields.ts";
import { INDEXES, type Index } from "../../../src/store/keys.ts";
import { runOf } from "../../../src/store/task/record.ts";
import { isOutcome, type State } from "../../../src/task.ts";
import type { Model } from "./model.ts";
import type { Dump, StoredQueue, StoredTask } from "./store.ts";
import { MODEL_DEAD_CAP, type ModelTask } from "./task.ts";

/** Which state may follow which. ARCHITECTURE.md has it as a diagram. */
const TRANSITIONS: Readonly<Record<State, readonly State[]>> = {
  waiting: ["running", "canceled", "scheduled"],
  scheduled: ["waiting", "canceled"],
  running: ["succeeded", "failed", "canceled", "retrying", "waiting"],
  retrying: ["waiting", "canceled"],
  succeeded: [],
  // A dead task (failed, with its input kept) can be run again; any other failure is final.
  failed: ["waiting"],
  canceled: [],
};

/** How long what is finished stays in these tests, ms. */
export const KEPT = { result: 3_600_000, tombstone: 86_400_000, dead: 604_800_000 } as const;
/** A run takes less than this from when a TTL was set. */
const RUN_MS = 120_000;
/** For so long all events of a queue are in its rate buckets, ms. */
const COUNTED_MS = 60_000;
/** The buckets have their numbers above these bits of a value. */
const BUCKET_COUNT = 2 ** 24;
/** The index that a state stands in. */
const HOME: Readonly<Record<State, Index | null>> = {
  ...{ waiting: "waiting", scheduled: "scheduled", retrying: "scheduled", running: "leases" },
  ...{ succeeded: null, failed: null, canceled: null },
};
/** Where ends wait to be told to webhooks. */
export const WEBHOOK_QUEUE = "paihao.webhooks";
/** How a stored step says whether it can be undone, and whether it has been. */
const MARKS = { none: "", due: "i", done: "u" } as const;

/** Holds a store against the model after each step, and each step against what was seen before. */
export class Checker {
  readonly #model: Model;
  /** What was last seen of a task, by when it was created: an id may live again after its tombstone. */
  readonly #states = new Map<string, { created: string; state: State; fence: number }>();
  readonly #counters = new Map<string, { hlc: number; fence: number }>();
  /** The score of each place: a task that comes back to the line comes back to it. */
  readonly #scores = new Map<string, string>();

  #began: number | undefined;

  constructor(model: Model) {
    this.#model = model;
  }

  /** @throws AssertionError that names the task or queue and the promise that is broken */
  check(dump: Dump, seen: ReadonlyMap<string, Inspection | null>): void {
    for (const [id, task] of this.#model.tasks) {
      const stored = dump.tasks.get(id);
      if (task.died === Infinity) task.died = Number(stored?.fields.ended);
    }
    this.#model.cap();
    this.#model.groups.leavePresence();
    for (const [id, stored] of dump.tasks) {
      const task = this.#model.tasks.get(id);
      if (task) this.#checkTask(task, stored, dump, seen.get(id) ?? null);
      else checkUnknown(id, stored, seen.get(id) ?? null);
    }
    this.#began ??= dump.now;
    for (const [name, queue] of dump.queues) {
      if (name === WEBHOOK_QUEUE) continue;
      this.#checkQueue(name, queue);
      if (dump.now < this.#began + COUNTED_MS) this.#checkCounts(name, queue);
    }
    const told = names(dump.queues.get(WEBHOOK_QUEUE)?.indexes.waiting ?? []).map((id) =>
      id.replace(/:webhook:\d+$/, ""),
    );
    expect(told, "webhooks").to.deep.equal(this.#model.told.map(({ id }) => id));
  }

  /** @throws AssertionError if a group says something else of its members than they do themselves */
  checkGroup(id: string, seen: GroupInspection | null): void {
    const { groups } = this.#model;
    if (groups.isEmpty(id)) return void expect(seen, `group ${id}`).to.equal(null);
    const line = seen ? this.#model.line(seen.queue) : [];
    const last = line.findLast((task) => task.group === id);
    expect(seen?.presentUntilMs !== null, `presence of group ${id}`).to.equal(groups.isPresent(id));
    expect(seen, `group ${id}`).to.deep.include({
      ...{ state: groups.stateOf(id), counts: groups.countsOf(id), index: last ? this.#model.indexOf(last) : null },
    });
  }

  #checkTask(task: ModelTask, stored: StoredTask, dump: Dump, seen: Inspection | null): void {
    const { id } = task;
    const { fields } = stored;
    expect(stateOf(fields.state ?? ""), `state of ${id}`).to.equal(task.state);
    const { queue, lost = 0 } = fields;
    const { attempts } = runOf(fields.run ?? "");
    expect({ queue, attempts, lost: Number(lost) }, `counters of ${id}`).to.deep.equal({
      ...{ queue: task.queue, attempts: task.attempts, lost: task.lost },
    });
    this.#checkHistory(task, fields);
    checkHome(task, dump);
    checkTimes(task, dump);
    checkInput(task, stored, this.#model.isApart(task));
    checkLives(task, stored);
    const steps = [...task.steps].map(([name, { value, undo }], nth) => [name, `${nth}${MARKS[undo]} ${value ?? ""}`]);
    expect(stored.steps, `steps of ${id}`).to.deep.equal(Object.fromEntries(steps));
    const output = (task.output ?? []).map(({ run, attempt, json }) => `${run} ${attempt} ${json}`);
    expect(stored.output, `output of ${id}`).to.deep.equal(output);
    const line = this.#model.line(task.queue);
    const running = this.#model.of(task.queue, "running").length;
    const index = this.#model.indexOf(task);
    expect(seen, `inspection of ${id}`).to.deep.include({
      ...{ state: task.state, index, ahead: task.state === "waiting" ? Number(index) + running : index },
      ...{ attempts: task.attempts, lost: task.lost, cancelRequested: task.cancelRequested },
      ...{ deleted: task.deleted, expired: task.expired, errorCode: task.errorCode, caller: task.caller || null },
      canceledBy: task.state === "canceled" ? task.late : null,
      ...{ errors: task.state === "failed" ? task.errors : [] },
    });
    expect(seen?.held, `held: ${id}`).to.equal(this.#model.isHeld(task));
    expect(seen?.deadlineMs !== null, `deadline of ${id}`).to.equal(task.deadline !== null);
    const ofGroup = task.group !== null && this.#model.groups.isPresent(task.group);
    const until = ofGroup || (task.present && task.ends !== null);
    expect(seen?.presenceMs !== null, `presence of ${id}`).to.equal(ofGroup || task.present);
    expect(seen?.presentUntilMs !== null, `presence of ${id} to come`).to.equal(until);
    expect(seen?.result?.body.toString() ?? null, `result of ${id}`).to.equal(task.result);
    expect(seen?.progress?.message ?? null, `progress of ${id}`).to.equal(task.progress);
    expect(seen?.snapshot, `line of ${id}`).to.include({
      ...{ waiting: line.length, running, paused: this.#model.queue(task.queue).paused },
      scheduled: this.#model.of(task.queue, "scheduled", "retrying").length,
    });
  }

  /** Of the store alone, whatever the model thinks: no state follows one that it must not, no fence comes twice. */
  #checkHistory(task: ModelTask, fields: StoredTask["fields"]): void {
    const created = fields.created ?? "";
    const before = this.#states.get(task.id);
    const [held] = fields.run?.split(" ") ?? [];
    const fence = Number(held ?? 0);
    if (before && before.created === created && before.state !== task.state) {
      expect(TRANSITIONS[before.state], `after ${before.state} of ${task.id}`).to.include(task.state);
    }
    if (before && before.created === created && fence !== 0) expect(fence).to.be.at.least(before.fence);
    this.#states.set(task.id, { created, state: task.state, fence: Math.max(fence, before?.fence ?? 0) });
    if (held !== undefined) expect(held, `fence of ${task.id}`).to.equal(task.fence);
  }

  #checkQueue(name: string, stored: StoredQueue): void {
    const line = this.#model.line(name);
    expect(names(stored.indexes.waiting), `order of ${name}`).to.deep.equal(line.map((task) => task.id));
    for (const [n, task] of line.entries()) {
      const score = stored.indexes.waiting[2 * n + 1] ?? "";
      expect(Math.floor(Number(score) / SHARED.classSpan), `class of ${task.id}`).to.equal(task.class);
      const place = `${task.class} ${task.place}`;
      expect(this.#scores.get(place) ?? score, `place of ${task.id}`).to.equal(score);
      this.#scores.set(place, score);
    }
    // Where the limit has changed, the next reservation decides who may start.
    if (this.#model.queue(name).keyed !== undefined && stored.fields.rekey === undefined) {
      const startable = this.#model.startable(name).map(({ id }) => id);
      expect(names(stored.startable), `those of ${name} that may start`).to.deep.equal(startable);
    }
    const kept = Object.entries(stored.shares).map(([key, text]) => [
      key,
      Number(text.split(" ")[0]),
      text.split(" ")[2],
    ]);
    const keys = [...(this.#model.queue(name).shares?.keys ?? [])].map(([key, { charge, last }]) => [
      key,
      charge,
      last.id,
    ]);
    expect(kept.sort(), `shares of ${name}`).to.deep.equal(keys.sort());
    expect(names(stored.indexes.dead).sort(), `dead of ${name}`).to.deep.equal(
      this.#model
        .dead(name)
        .map((task) => task.id)
        .sort(),
    );
    expect(stored.indexes.dead.length / 2, `dead of ${name}`).to.be.at.most(MODEL_DEAD_CAP);
    const dated = [...this.#model.tasks.values()].filter((task) => task.queue === name && task.ends !== null);
    const present = this.#model.groups.ids.filter((id) => id === `group-${name}` && this.#model.groups.isPresent(id));
    expect(names(stored.deadlines).sort(), `deadlines of ${name}`).to.deep.equal(
      [...dated.map(({ id }) => id), ...present.map((id) => `${id}:group`)].sort(),
    );
    const queue = this.#model.queue(name);
    const { hlc = 0, fence = 0, lost = 0, dead = 0, paused = 0, healed = 0 } = numbers(stored.fields);
    expect({ lost, dead, paused, healed }, `counters of ${name}`).to.deep.equal({
      ...{ lost: queue.losses, dead: queue.deaths, paused: queue.paused ? 1 : 0, healed: 0 },
    });
    const before = this.#counters.get(name) ?? { hlc: 0, fence: 0 };
    expect(hlc, `hlc of ${name}`).to.be.at.least(before.hlc);
    expect(fence, `fence of ${name}`).to.be.at.least(before.fence);
    this.#counters.set(name, { hlc, fence });
  }

  #checkCounts(name: string, stored: StoredQueue): void {
    const { accepted, started, finished, failed } = this.#model.queue(name);
    const running = this.#model.of(name, "running").length;
    expect(
      {
        accepted: counted(stored, "accepted"),
        // Tasks that have left their slots, or are in them now.
        started: running + counted(stored, "finished") + counted(stored, "returned"),
        finished: counted(stored, "finished"),
        failed: counted(stored, "failed"),
      },
      `what happened in ${name}`,
    ).to.deep.equal({ accepted, started, finished, failed });
  }
}

/** How many events of a kind the rate buckets of a queue have. */
function counted({ fields }: StoredQueue, kind: keyof typeof RATE_LETTERS): number {
  const buckets = Object.entries(fields).filter(([name]) => new RegExp(`^${RATE_LETTERS[kind]}\\d$`).test(name));
  return buckets.reduce((sum, [, value]) => sum + (Number(value) % BUCKET_COUNT), 0);
}

const names = (index: readonly string[]): string[] => index.filter((_, n) => n % 2 === 0);
const numbers = (fields: Readonly<Record<string, string>>): Record<string, number> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Number(value)]));

function checkUnknown(id: string, stored: StoredTask, seen: Inspection | null): void {
  expect(seen, `inspection of ${id}`).to.equal(null);
  expect(stored, `what is left of ${id}`).to.deep.include({
    ttl: -2,
    inputTtl: -2,
    resultTtl: -2,
    stepsTtl: -2,
    outputTtl: -2,
    attemptsTtl: -2,
  });
}

/** In exactly one index of its queue and in none of another, or in none at all when it is finished and not dead. */
function checkHome(task: ModelTask, dump: Dump): void {
  const places = [...dump.queues].flatMap(([name, queue]) =>
    INDEXES.filter((index) => names(queue.indexes[index]).includes(task.id)).map((index) => `${index} ${name}`),
  );
  const home = task.died === null ? HOME[task.state] : "dead";
  expect(places, `indexes of ${task.id}`).to.deep.equal(home === null ? [] : [`${home} ${task.queue}`]);
}

/** What has an entry for a time is due then: a lease that was renewed, also by a repeated reservation, is again one to come. */
function checkTimes(task: ModelTask, { now, queues }: Dump): void {
  const { indexes, deadlines = [] } = queues.get(task.queue) ?? {};
  const holds = (what: string, entries: readonly string[] = [], when: number) => {
    const score = Number(entries[entries.indexOf(task.id) + 1]);
    if (when === Infinity) expect(score, `${what} of ${task.id}`).to.be.above(now);
    else expect(score, `${what} of ${task.id}`).to.equal(when);
  };
  if (task.state === "running") holds("lease", indexes?.leases, task.lapsed);
  if (task.state === "scheduled" || task.state === "retrying") holds("time", indexes?.scheduled, task.due);
  if (task.ends !== null) holds("end", deadlines, task.ends);
}

/** An input beside the record is kept for as long as it may be needed; any other stays to know a replay by. */
function checkInput(task: ModelTask, stored: StoredTask, apart: boolean): void {
  const { id, input } = task;
  if (apart) {
    expect(stored.input, `input of ${id}`).to.equal(task.inputKept ? input : "");
    expect(stored.fields, `input of ${id}`).to.have.property("digest").with.length(32);
    expect(stored.fields, `input of ${id}`).not.to.have.property("input");
    if (input.length <= SHARED.inlineInputBytes) expect(stored.inputTtl, `a key of the input of ${id}`).to.equal(-2);
  } else {
    expect(stored.fields.input, `input of ${id}`).to.equal(input);
    expect(stored.inputTtl, `input of ${id}`).to.equal(-2);
  }
  expect(stored.fields.mediaType ?? "application/json", `media type of ${id}`).to.equal(task.mediaType);
}

/** Everything finished has a time to live, and nothing else has. */
function checkLives(task: ModelTask, stored: StoredTask): void {
  const { id, kept } = task;
  const lives = (what: string, ttl: number, ms: number) =>
    expect(ttl, `TTL of ${what} ${id}`).to.be.within(ms - RUN_MS, ms);
  expect(isOutcome(task.state), `end of ${id}`).to.equal(kept !== null);
  if (kept === null) {
    expect(stored.ttl, `TTL of ${id}`).to.equal(-1);
    expect(stored.inputTtl, `TTL of the input of ${id}`).to.be.below(0);
    expect(stored.stepsTtl, `TTL of the steps of ${id}`).to.be.below(0);
    expect(stored.outputTtl, `TTL of the output of ${id}`).to.be.below(0);
    expect(stored.attemptsTtl, `TTL of what the attempts of ${id} left`).to.be.below(0);
    expect(stored.resultTtl, `a result of ${id}`).to.equal(-2);
    expect(stored.fields, `a result of ${id}`).not.to.have.property("result");
    return;
  }
  lives("the task", stored.ttl, KEPT[kept] + KEPT.tombstone);
  const { result: inHash } = stored.fields;
  if (task.deleted) expect(inHash, `a result of ${id}`).to.equal(undefined);
  if (task.result === null || inHash !== undefined) expect(stored.resultTtl, `a result of ${id}`).to.equal(-2);
  else lives("the result of", stored.resultTtl, KEPT[kept]);
  for (const ttl of [stored.inputTtl, stored.stepsTtl, stored.outputTtl, stored.attemptsTtl])
    if (ttl !== -2) lives("what is kept of", ttl, KEPT[kept]);
}
