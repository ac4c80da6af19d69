import { expect } from "chai";
import type { Engine } from "../../../src/engine/engine.ts";
import { type QueueSettings, retentionOf } from "../../../src/engine/settings.ts";
import { catalogueResult } from "../../../src/engine/tasks/result.ts";
import { lossOf } from "../../../src/engine/upkeep/tick.ts";
import { type BatchGroup, groupsOf } from "../../../src/extras/groups/groups.ts";
import type { Lease } from "../../../src/store/task/lease.ts";
import type { Result } from "../../../src/task.ts";
import { submissionOf } from "../../shared/submission.ts";
import {
  IDS,
  INPUTS,
  KEYS,
  type LeaseOp,
  MEDIA_TYPES,
  type Op,
  QUEUES,
  SHARES,
  type SubmitOp,
  WORKERS,
} from "./calls.ts";
import { waitsFor, watches } from "./messages.ts";
import type { Model } from "./model.ts";
import { allPages } from "./pages.ts";
import type { TimeTravel } from "./store.ts";
import { LONG_AGO, MODEL_OUTPUT_BYTES, type ModelTask } from "./task.ts";

const HOUR_MS = 3_600_000;

/** What a step is played on: the model, the engine beside it, and what has been handed out so far. */
export interface World {
  readonly model: Model;
  readonly engine: Engine;
  /** Another process, which submits and listens. */
  readonly submitter: Engine;
  readonly time: TimeTravel;
  /** Every lease ever handed out, stale ones too: a late worker shows them all. */
  readonly leases: Lease[];
  /** The last reservation of each worker, queue and lane, to be sent again. */
  readonly reservations: Map<string, string>;
  /** The groups that were opened. */
  readonly groups: Map<string, BatchGroup>;
  /** Counts what is named by number. */
  serial: number;
}

/** Most ids have one queue that they are submitted to; now and then it is another. */
const home = ({ id: n = 0, queue: other = 0 }: Partial<SubmitOp>): string =>
  queueOf(((n % 3 === 2 ? 1 : 0) + other) % 2);
const idOf = (n: number): string => IDS[n % IDS.length] ?? "a";
const queueOf = (n: number): string => QUEUES[n % QUEUES.length] ?? "jobs";
const text = (body: string): Result => ({
  ...{ status: 200, contentType: "text/plain", headers: {}, body: Buffer.from(body) },
});
const WORKER_LOST = Buffer.from(catalogueResult("worker-lost").body).toString();

/** Plays one call on engine and model, and holds the answers against each other. */
export async function play(world: World, call: Op): Promise<void> {
  const { model, engine } = world;
  switch (call.op) {
    case "submit":
      return submit(world, call.items);
    case "update": {
      const [input = "", mediaType = ""] = [INPUTS[call.input], MEDIA_TYPES[call.media]];
      const verdict = await engine.submitter.update(
        made({ ...givenOf(world, call), id: idOf(call.id), input, mediaType }),
        engine.queues.settings(model.tasks.get(idOf(call.id))?.queue ?? queueOf(0)),
      );
      expect(typeof verdict === "object" ? "too-many" : verdict).to.equal(
        model.update(idOf(call.id), input, mediaType, KEYS[call.key] ?? null),
      );
      return;
    }
    case "move": {
      const { delayed, ...to } = call.to;
      const task = { id: idOf(call.id), queue: model.tasks.get(idOf(call.id))?.queue ?? queueOf(0) };
      const delay = delayed === undefined ? {} : { delayMs: delayed ? HOUR_MS : 0 };
      expect(await engine.submitter.move(task, { ...to, ...delay })).to.equal(model.move(task.id, call.to));
      return;
    }
    case "reserve":
      return reserve(world, call);
    case "fail": {
      const items = call.items.map((item) => ({ ...item, lease: leaseOf(world, item.lease), error: name(world, "e") }));
      const verdicts = await Promise.all(
        items.map(({ lease: of, kind, delayed, error }) =>
          engine.leases.fail(
            of,
            { kind, delayMs: delayed ? HOUR_MS : 0, error, code: "task-failed", result: text(error) },
            engine.queues.settings(of.queue),
          ),
        ),
      );
      expect(verdicts).to.deep.equal(
        items.map(({ lease: of, kind, delayed, error }) => model.fail(of, kind, { delayed, error, result: error })),
      );
      return;
    }
    case "renew":
    case "complete":
    case "release":
    case "begin":
    case "lose":
    case "progress":
      return withLeases(world, call);
    case "cancel":
    case "retry": {
      const ids = call.ids.map((n) => known(world, n));
      const tasks = ids.map((id) => ({ id, queue: model.tasks.get(id)?.queue ?? "jobs" }));
      const verdicts = await Promise.all(tasks.map((task) => engine.call(call.op as "cancel", task)));
      expect(verdicts).to.deep.equal(ids.map((id) => model[call.op as "cancel"](id)));
      return;
    }
    case "attend":
      for (const id of call.ids.map((n) => known(world, n))) {
        await engine.inspector.inspect(id, { result: false, attends: () => true });
        model.attend(id);
      }
      return;
    case "retryAll": {
      const dead = (await allPages(engine, "dead", queueOf(call.queue), 2)).map((place) => place.id);
      const retried = await engine.deadLetters.retryAll(queueOf(call.queue));
      expect(retried).to.equal(dead.filter((of) => model.retry(of) === "waiting").length);
      return;
    }
    case "deleteDead": {
      const of = queueOf(call.queue);
      return void expect(await engine.deadLetters.deleteAll(of)).to.equal(model.deleteDead(of));
    }
    case "pause":
      model.queue(queueOf(call.queue)).paused = call.paused;
      return engine.queues.pause(queueOf(call.queue), call.paused);
    case "total":
      if (model.queue(queueOf(call.queue)).total === undefined) return;
      model.queue(queueOf(call.queue)).total = call.total;
      return engine.queues.adjust(queueOf(call.queue), { total: call.total });
    case "group":
      return group(world, call);
    case "step": {
      const of = leaseOf(world, call.lease);
      const [step, value] = [`step-${call.name}`, JSON.stringify(name(world, "v"))];
      const { undo, verb } = call;
      const verdict = {
        begin: () => engine.steps.begin(of, step, 1e6),
        keep: () => engine.steps.keep(of, { name: step, value, undo }, 1e6),
        undone: () => engine.steps.undone(of, step),
      }[verb]();
      expect(await verdict).to.equal(model.step(of, { verb, name: step, value, undo }));
      const held = model.tasks.get(of.id)?.fence === of.fence && model.tasks.get(of.id)?.state === "running";
      const found = await engine.steps.all(of);
      expect(
        found && [...found].map(([stepName, { json, undo: mark }]) => [stepName, json ?? null, mark]),
      ).to.deep.equal(
        held
          ? [...model.task(of.id).steps].map(([stepName, { value: json, undo: mark }]) => [stepName, json, mark])
          : null,
      );
      return;
    }
    case "write": {
      const of = leaseOf(world, call.lease);
      const values = Array.from({ length: call.values }, () => JSON.stringify(name(world, "")));
      const written = await engine.outputs.write(of, values, { maxBytes: MODEL_OUTPUT_BYTES, all: call.all });
      expect(written, "values written").to.equal(model.write(of, values, call.all));
      const { total, values: read } = await engine.outputs.read(of, 1);
      const output = model.tasks.get(of.id)?.output ?? [];
      expect({ total, read }, "output read").to.deep.equal({ total: output.length, read: output.slice(1) });
      return;
    }
    case "tick": {
      const lostBy = await world.time.sinceTick(call.afterGap);
      const orders = await Promise.all(model.groups.ids.map((id) => world.time.membersOf(id)));
      const ticked = await engine.upkeep.tick(0);
      const expected = model.tick(
        WORKER_LOST,
        lostBy,
        ticked.lost.map((task) => task.queue),
        ticked.late.map((task) => task.queue),
        orders.flat(),
      );
      expect(
        ticked.late.map(({ id: of, verdict, reason }) => ({ id: of, verdict, reason })),
        "late",
      ).to.deep.equal(expected.late);
      expect(ticked.promoted, "promoted").to.equal(expected.promoted);
      const lost = ticked.lost.map(({ id: of, losses, outcome }) => ({ id: of, losses, outcome }));
      expect(lost, "losses").to.deep.equal(expected.lost);
      const isTimed = (t: ModelTask) => t.ends !== null || ["scheduled", "retrying", "running"].includes(t.state);
      const isDue = [...model.tasks.values()].some(isTimed) || model.groups.ids.some((id) => model.groups.isTimed(id));
      expect(ticked.nextMs !== null, "something is due").to.equal(isDue);
      return;
    }
    case "elapse":
    case "late":
    case "absent":
      for (const n of call.ids) await world.time[call.op](known(world, n), call.when);
      return;
    case "expire":
      for (const n of call.ids) await world.time.expire(known(world, n), LONG_AGO);
      return;
    case "entomb":
      return world.time.remove(idOf(call.id));
    case "span":
      return world.time.passSpan(queueOf(call.queue));
    case "page": {
      const places = await allPages(engine, call.index, queueOf(call.queue), call.limit);
      const of = queueOf(call.queue);
      const whole = await engine.queues.page(call.index, { queue: of, after: null, limit: 200 });
      expect(places, "pages one after the other").to.deep.equal(whole.entries);
      const due = model.of(of, "scheduled", "retrying");
      const lists = { waiting: model.line(of), leases: model.of(of, "running"), scheduled: due, dead: model.dead(of) };
      const tasks = lists[call.index];
      expect(places.map((p) => p.id).sort()).to.deep.equal(tasks.map((t) => t.id).sort());
      const outcomes = model.of(of, "succeeded", "failed", "canceled").filter((t) => !t.deleted);
      const finished = (await engine.queues.finished({ queue: of, after: null, limit: 200 })).entries.map((p) => p.id);
      expect(finished.sort(), "outcomes").to.deep.equal(outcomes.map((t) => t.id).sort());
      return;
    }
  }
}

function name(world: World, kind: string): string {
  world.serial += 1;
  return `${kind}${world.serial}`;
}

/** The task of a caller with this number, see {@link Op}. */
function known({ leases }: World, n: number): string {
  if (n < IDS.length) return idOf(n);
  const own = leases.filter(({ id }) => IDS.includes(id as (typeof IDS)[number]));
  return own.at(IDS.length - 1 - n)?.id ?? idOf(n);
}

function leaseOf(world: World, n: number): Lease {
  return world.leases.at(-1 - n) ?? { queue: queueOf(0), id: idOf(n), fence: String(n + 1) };
}

const made = (given: ReturnType<typeof givenOf>) => submissionOf(given.id, given.queue, given.input, given);

function givenOf({ model }: World, s: Partial<SubmitOp>) {
  const { keyed, shares } = model.queue(home(s));
  return {
    ...(keyed !== undefined && { key: KEYS[s.key ?? 0] ?? null }),
    share: shares ? SHARES[s.share ?? 0] : undefined,
    ...{ id: idOf(s.id ?? 0), queue: home(s), input: INPUTS[s.input ?? 0] ?? "", query: {} },
    ...{ mediaType: MEDIA_TYPES[s.media ?? 0] ?? "", caller: s.caller === true ? "bob" : null },
    ...{ priority: s.priority ?? 3, delayMs: s.delayed === true ? HOUR_MS : 0 },
    ...{ maxIndex: s.maxIndex ?? null, dryRun: s.dryRun ?? false, deadlineMs: s.dated ? 2 * HOUR_MS : null },
    presenceMs: isPresent(s) ? HOUR_MS : null,
    webhook: s.webhook === true ? "https://example.com/hook" : null,
  };
}

/** How many tasks of a key may run at once from this submission on. */
const limitOf = ({ engine }: World, s: SubmitOp): number | undefined => {
  const { keyedConcurrency } = engine.queues.settings(home(s));
  return keyedConcurrency && (s.concurrency ?? keyedConcurrency);
};

async function submit(world: World, items: readonly SubmitOp[]): Promise<void> {
  const { model, engine, submitter } = world;
  const settings = (s: SubmitOp): QueueSettings => ({
    ...engine.queues.settings(home(s)),
    maxWaiting: s.limit,
    keyedConcurrency: limitOf(world, s),
  });
  const verdicts = await Promise.all(
    items.map((s, line) => {
      const of = groupOf(s);
      const submission = { ...made(givenOf(world, s)), ...(of !== undefined && { member: { group: of, line } }) };
      return submitter.submitter.submit(submission, settings(s), waitsFor(idOf(s.id)));
    }),
  );
  const watched = items.map(({ id }) => idOf(id)).filter(watches);
  await Promise.all(watched.map((id) => submitter.inspector.inspect(id, { result: false, listen: true })));
  const expected = items.map((s) => {
    const { share = null, ...submission } = givenOf(world, s);
    return model.submit({
      ...submission,
      share,
      group: groupOf(s),
      caller: s.caller ? "bob" : "",
      delayed: s.delayed,
      limit: s.limit,
      concurrency: limitOf(world, s),
      webhook: s.webhook,
      dated: s.dated,
      present: isPresent(s),
    });
  });
  expect(verdicts.map(({ verdict, state, index }) => ({ verdict, state, index }))).to.deep.equal(expected);
  for (const [i, s] of items.entries()) {
    expect(verdicts[i]?.snapshot).to.include({ queue: home(s), waiting: model.line(home(s)).length });
  }
}

const groupOf = (s: Partial<SubmitOp>): string | undefined => (s.grouped && !s.caller ? `group-${home(s)}` : undefined);

/** A member has the presence of its group. */
const isPresent = (s: Partial<SubmitOp>): boolean => s.present === true && groupOf(s) === undefined;

async function group(world: World, call: Extract<Op, { op: "group" }>): Promise<void> {
  const { model, engine, groups } = world;
  const id = `group-${queueOf(call.queue)}`;
  if (call.verb === "open") {
    const opened = await groupsOf(engine).open(
      { id, caller: null, webhook: null, presenceMs: call.present ? HOUR_MS : null },
      engine.queues.settings(queueOf(call.queue)),
    );
    if (typeof opened === "string") throw new Error(opened);
    expect(opened.state === "closed" ? "closed" : "open").to.equal(model.groups.open(id, call.present));
    groups.set(id, opened);
  } else if (call.verb === "close") {
    const opened = groups.get(id);
    if (!opened) return;
    await opened.endBatch({ lines: 0, closes: true });
    model.groups.close(id);
  } else {
    const order = await world.time.membersOf(id);
    expect(await groupsOf(engine).cancel(id, "jobs")).to.equal(model.cancelGroup(id, order));
  }
}

async function reserve(world: World, call: Extract<Op, { op: "reserve" }>): Promise<void> {
  const { model, engine, leases, reservations } = world;
  const [of, worker, lane] = [queueOf(call.queue), WORKERS[call.worker] ?? "", call.lane];
  const key = `${of} ${worker} ${lane}`;
  const reservation = (call.again ? reservations.get(key) : undefined) ?? name(world, "r");
  reservations.set(key, reservation);
  const { rate } = model.queue(of);
  const request = {
    queue: of,
    worker,
    lane,
    reservation,
    count: call.count,
    leaseMs: HOUR_MS,
    rate,
    ...(call.reports && { suspectLeaseMs: HOUR_MS }),
    ahead: call.ahead,
  };
  const ends = call.completes.map((n) => ({ lease: leaseOf(world, n), word: name(world, "complete") }));
  // In the same turn, so that they travel together.
  const verdicts = ends.map((end) =>
    engine.leases.complete(end.lease, text(end.word), engine.queues.settings(end.lease.queue)),
  );
  const reply = await engine.leases.reserve(request);
  expect(await Promise.all(verdicts)).to.deep.equal(ends.map(({ lease, word }) => model.complete(lease, word)));
  const before = new Map([...model.tasks].map(([known, task]) => [known, task.fence]));
  const expected = model.reserve(of, worker, lane, reservation, call.count, call);
  expect(reply.tasks.map((task) => task.id)).to.deep.equal(expected.ids);
  expect(reply.waiting).to.equal(expected.waiting);
  if (rate === undefined) expect(reply.pauseMs).to.equal(0);
  for (const { id: taken, fence, attempt, lost, input, mediaType, caller } of reply.tasks) {
    const task = model.task(taken);
    expect(
      { attempt, lost, mediaType, caller, input: input?.toString() ?? "" },
      `what is handed out of ${taken}`,
    ).to.deep.equal({
      attempt: task.attempts,
      lost: task.lost,
      mediaType: task.mediaType,
      caller: task.caller,
      input: task.input,
    });
    if (fence === before.get(taken)) continue;
    for (const other of leases) if (other.queue === of) expect(Number(fence)).to.be.above(Number(other.fence));
    model.fenced(taken, fence);
    leases.push({ queue: of, id: taken, fence });
  }
}

async function withLeases(
  world: World,
  { op, leases: which, apart = false, unbegun = false }: Extract<Op, { op: LeaseOp }>,
) {
  const { engine, model } = world;
  const items = which.map((n) => ({ of: leaseOf(world, n), word: name(world, op) }));
  const one = {
    renew: (of: Lease) => [engine.leases.renew(of, HOUR_MS), () => model.renew(of)],
    complete: (of: Lease, word: string) => {
      // Some in one field of the hash, some in several, some of their own.
      const body = word.repeat([1, 10, 40][world.serial % 3] ?? 1);
      return [engine.leases.complete(of, text(body), engine.queues.settings(of.queue)), () => model.complete(of, body)];
    },
    release: (of: Lease) => [
      engine.call("release", { ...of, unbegun, ...retentionOf(engine.queues.settings(of.queue)) }),
      () => model.release(of, unbegun),
    ],
    begin: (of: Lease) => [engine.call("begin", { ...of, leaseMs: HOUR_MS, apart }), () => model.begin(of, apart)],
    lose: (of: Lease) => [
      engine.call("lose", { ...lossOf(engine.queues.settings(of.queue)), ...of }),
      () => model.lose(of, WORKER_LOST),
    ],
    progress: (of: Lease, word: string) => [
      engine.call("progress", { ...of, progress: `${50} ${word}` }),
      () => model.progress(of, word),
    ],
  } satisfies Record<string, (of: Lease, word: string) => [Promise<string>, () => string]>;
  const calls = items.map(({ of, word }) => one[op](of, word) as [Promise<string>, () => string]);
  const verdicts = await Promise.all(calls.map(([verdict]) => verdict));
  expect(verdicts, op).to.deep.equal(calls.map(([, expected]) => expected()));
}
