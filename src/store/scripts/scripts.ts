import type { Durability } from "../../config/config.ts";
import { type Nodes, nodesOf } from "../cluster-routing.ts";
import { type Connection, isCluster, LARGE_VALUE_MS } from "../connection.ts";
import { Confirmation } from "../durability.ts";
import { START } from "../keys.ts";
import { type CompleteVerdict, type Completion, completeArguments, completeVerdicts } from "./complete.ts";
import type {
  Allocated,
  AllocateItem,
  AuditItems,
  BeginVerdict,
  Call,
  CancelVerdict,
  Counted,
  FailItem,
  FailVerdict,
  Inspected,
  Lease,
  LoseVerdict,
  LostTask,
  PagedIndex,
  PermitRequest,
  Place,
  Question,
  Retention,
  RetryVerdict,
  Ticked,
  TickQueue,
  UpdateVerdict,
} from "./items.ts";
import { type Asking, partOf, type Reservation, type ReservedPart, reservedTasks } from "./reserve.ts";
import { type Line, lineOf, list, number, optional, type QueueRow, queueRow, taskRow, text } from "./rows.ts";
import { Script, storeError } from "./script.ts";
import { PATIENCE_MS, SCRIPT_NAMES, type ScriptName } from "./script-names.ts";
import { StepScript } from "./step.ts";

import { type SubmitItem, type Submitted, submitArguments, submitted } from "./submit.ts";

export type { CompleteVerdict, Completion } from "./complete.ts";
export * from "./items.ts";
export type { Asking, Part, Reservation, Reserved, ReservedPart } from "./reserve.ts";
export type { Line, QueueRow, TaskRow } from "./rows.ts";
export type { StepVerdict, StoredStep } from "./step.ts";
export type { SubmitItem, Submitted, SubmitVerdict } from "./submit.ts";

/** The most items that one call of a script takes: no call may hold up Redis for long. */
export const BATCH_LIMIT = 100;

/** Every script as one typed function; nothing else runs them. `tag` is that of a partition, see keys.ts. */
export class Scripts {
  readonly #run: Readonly<Record<ScriptName, Script>>;

  readonly #nodes: Nodes;
  readonly #confirmation: Confirmation;
  /** The durable steps of tasks. */
  readonly step: StepScript;

  /**
   * @param flags whether the server knows script flags and sharded messages (Redis 7 and later)
   * @param durability what a submission is to reach; above `memory`, on a connection of its own: the wait for a disk or
   *   a replica holds up all that comes behind it
   */
  constructor(connection: Connection, { flags, durability = "memory" }: { flags: boolean; durability?: Durability }) {
    const nodes = nodesOf(connection);
    this.#nodes = nodes;
    const options = { flags, sharded: flags && isCluster(connection) };
    this.#confirmation = new Confirmation(durability);
    this.#run = Object.fromEntries(
      SCRIPT_NAMES.map((name) => [name, new Script(nodes, name, { ...options, patienceMs: PATIENCE_MS[name] })]),
    ) as Record<ScriptName, Script>;
    this.step = new StepScript(this.#run.step);
  }

  /** The bytes of a key as they are, outside of any script; null where there are none. @throws PaihaoError, see {@link storeError} */
  async value(tag: string, key: string): Promise<Buffer | null> {
    try {
      const { reply } = await this.#nodes.run(tag, (node) => node.getBuffer(key), LARGE_VALUE_MS);
      return reply;
    } catch (error) {
      throw storeError(error);
    }
  }

  /** `durable` tells whether all of it is as durable as asked for. */
  async submit(
    tag: string,
    items: readonly SubmitItem[],
  ): Promise<{ lines: Line[]; verdicts: Submitted[]; durable: boolean }> {
    const { reply, node } = await this.#run.submit.served(tag, submitArguments(items));
    const durable = await this.#confirmation.confirm(node);
    const [lines, verdicts] = list(reply);
    return { durable, lines: list(lines).map(lineOf), verdicts: text(verdicts).split("\n").map(submitted) };
  }

  /** Replaces the input of a task that has not begun; where a revision is given, only of a task that is of it. */
  async update(
    tag: string,
    item: Pick<SubmitItem, "id" | "input" | "digest" | "mediaType" | "query"> &
      Call & { readonly revision?: number | undefined },
  ): Promise<UpdateVerdict> {
    const args = [item.id, item.input, item.digest, item.mediaType, item.query, item.call, item.revision ?? ""];
    return text(await this.#run.update.text(tag, args)) as UpdateVerdict;
  }

  /**
   * Takes tasks, and finishes others on the way. `waiting` is null while the queue is paused; `pauseMs` is for how long the rate
   * allows no more.
   */
  async reserve(tag: string, request: Reservation, completions: readonly Completion[] = []): Promise<ReservedPart> {
    const { queue, worker, asked, reservation, count, leaseMs, rate, suspectLeaseMs } = request;
    const lane = asked ? `${asked.holder} ${asked.generation} ${asked.after}` : (request.lane ?? 0);
    const most = Math.min(count, BATCH_LIMIT);
    const args = [
      queue,
      worker,
      lane,
      reservation,
      most,
      leaseMs,
      rate?.max ?? 0,
      rate?.perMs ?? 0,
      suspectLeaseMs ?? 0,
    ];
    const reply = await this.#run.reserve.bytes(tag, [...args, ...completeArguments(completions)]);
    const [tasks, waiting, pause, verdicts, part] = list(reply);
    return {
      part: asked ? partOf(text(part)) : null,
      tasks: reservedTasks(list(tasks)),
      waiting: number(waiting) < 0 ? null : number(waiting),
      pauseMs: number(pause),
      verdicts: completeVerdicts(text(verdicts)),
    };
  }

  /** Permits starts of a queue that lies in several partitions; with `used` tells how many of them were made. */
  async permit(tag: string, asked: PermitRequest): Promise<{ permits: number; pauseMs: number }> {
    const { queue, request, count, rate, used = "" } = asked;
    const reply = await this.#run.permit.text(tag, [queue, request, count, rate.max, rate.perMs, used]);
    const [permits, pauseMs] = list(reply);
    return { permits: number(permits), pauseMs: number(pauseMs) };
  }

  async renew(tag: string, leases: readonly (Lease & { leaseMs: number })[]): Promise<("ok" | "cancel" | "stale")[]> {
    const args = leases.flatMap((l) => [l.queue, l.id, l.fence, l.leaseMs]);
    return (await this.#run.renew.text(tag, [leases.length, ...args])) as ("ok" | "cancel" | "stale")[];
  }

  /** Prolongs a lease by as long as it was taken for over HTTP, or by `fallbackMs` where it was not. */
  async renewAsTaken(
    tag: string,
    { queue, id, fence }: Lease,
    fallbackMs: number,
  ): Promise<{ verdict: "ok" | "cancel" | "stale"; leaseMs: number }> {
    const [reply] = list(await this.#run.renew.text(tag, [1, queue, id, fence, `=${fallbackMs}`]));
    const [verdict, lease = fallbackMs] = text(reply).split(" ");
    return { verdict: verdict as "ok" | "cancel" | "stale", leaseMs: Number(lease) };
  }

  /** Hands back what a request took that is remembered by itself; "shared" when another sender of it may have been told of it. */
  async unreserve(
    tag: string,
    request: Reservation & Retention,
    { holder, generation }: Pick<Asking, "holder" | "generation">,
  ): Promise<"handed-back" | "shared"> {
    const { queue, worker, reservation, leaseMs, keepMs, tombstoneMs } = request;
    const args = [queue, worker, reservation, holder, generation, leaseMs, keepMs, tombstoneMs];
    return text(await this.#run.unreserve.text(tag, args)) as "handed-back" | "shared";
  }

  async complete(tag: string, items: readonly Completion[]): Promise<CompleteVerdict[]> {
    return completeVerdicts(text(await this.#run.complete.text(tag, completeArguments(items))));
  }

  async fail(tag: string, items: readonly FailItem[], deadCap: number): Promise<FailVerdict[]> {
    const args = items.flatMap((t) => [
      ...[t.queue, t.id, t.fence, t.kind, t.attempts, t.delayMs, t.error, t.code],
      ...[t.result, t.keepMs, t.tombstoneMs, t.deadMs],
    ]);
    return (await this.#run.fail.text(tag, [items.length, ...args, deadCap])) as FailVerdict[];
  }

  async release(tag: string, items: readonly (Lease & Retention)[]): Promise<("released" | "canceled" | "stale")[]> {
    const args = items.flatMap((t) => [t.queue, t.id, t.fence, t.keepMs, t.tombstoneMs]);
    return (await this.#run.release.text(tag, [items.length, ...args])) as ("released" | "canceled" | "stale")[];
  }

  async cancel(tag: string, items: readonly ({ id: string } & Call & Retention)[]): Promise<CancelVerdict[]> {
    const args = items.flatMap((t) => [t.id, t.call, t.keepMs, t.tombstoneMs]);
    return (await this.#run.cancel.text(tag, [items.length, ...args])) as CancelVerdict[];
  }

  /** Reports that handlers begin. */
  async begin(tag: string, items: readonly (Lease & { leaseMs: number })[]): Promise<BeginVerdict[]> {
    const args = items.flatMap((t) => [t.queue, t.id, t.fence, t.leaseMs]);
    return (await this.#run.begin.text(tag, [items.length, ...args])) as BeginVerdict[];
  }

  /** Reports tasks whose process died under them. */
  async lose(tag: string, items: readonly (Lease & TickQueue)[], deadCap: number): Promise<LoseVerdict[]> {
    const args = items.flatMap((t) => [
      ...[t.queue, t.id, t.fence, t.maxLost, t.problem, t.keepMs, t.tombstoneMs, t.deadMs],
    ]);
    return (await this.#run.lose.text(tag, [items.length, ...args, deadCap])) as LoseVerdict[];
  }

  /** Runs dead tasks again. */
  async retry(tag: string, items: readonly ({ id: string } & Call)[]): Promise<RetryVerdict[]> {
    const args = items.flatMap((t) => [t.id, t.call]);
    return (await this.#run.retry.text(tag, [items.length, ...args])) as RetryVerdict[];
  }

  /** Forgets dead tasks, the oldest first; returns how many. */
  async forget(tag: string, { queue, limit, call }: { queue: string; limit: number } & Call): Promise<number> {
    return number(await this.#run.forget.text(tag, [queue, Math.min(limit, BATCH_LIMIT), call]));
  }

  async pause(tag: string, queue: string, paused: boolean): Promise<void> {
    await this.#run.pause.text(tag, [queue, paused ? "1" : "0"]);
  }

  /** The tasks of an index that come after a place in it, in order. */
  async page(
    tag: string,
    request: { index: PagedIndex; queue: string; after: Place | null; limit: number },
  ): Promise<Place[]> {
    const { index, queue, after, limit } = request;
    const reply = list(
      await this.#run.page.text(tag, [
        START[index],
        queue,
        after?.score ?? "-inf",
        after?.id ?? "",
        Math.min(limit, 200),
      ]),
    );
    const places: Place[] = [];
    for (let i = 0; i < reply.length; i += 2) places.push({ id: text(reply[i]), score: text(reply[i + 1]) });
    return places;
  }

  /** Checks tasks, or the entries of an index, against each other; returns the ids of those that disagreed. */
  async audit(tag: string, { index, ids, heal }: AuditItems): Promise<string[]> {
    const of = index ? START[index.name] : START.task;
    return list(await this.#run.audit.text(tag, [of, index?.queue ?? "", heal ? "1" : "0", ...ids])).map(text);
  }

  async progress(
    tag: string,
    items: readonly { id: string; fence: string; progress: string }[],
  ): Promise<("ok" | "stale")[]> {
    const args = items.flatMap((t) => [t.id, t.fence, t.progress]);
    return (await this.#run.progress.text(tag, [items.length, ...args])) as ("ok" | "stale")[];
  }

  async tick(tag: string, queues: readonly TickQueue[], options: { limit: number; deadCap: number }): Promise<Ticked> {
    const args = queues.flatMap((q) => [q.queue, q.maxLost, q.keepMs, q.tombstoneMs, q.deadMs, q.problem]);
    const [promoted, next, lost] = list(
      await this.#run.tick.text(tag, [options.limit, options.deadCap, queues.length, ...args]),
    );
    return {
      promoted: number(promoted),
      nextMs: optional(next),
      lost: list(lost).map((reply) => {
        const [queue, id, worker, losses, fate] = list(reply);
        return {
          queue: text(queue),
          id: text(id),
          worker: text(worker),
          losses: number(losses),
          fate: text(fate) as LostTask["fate"],
        };
      }),
    };
  }

  /** Registers queues, at most as many as {@link BATCH_LIMIT}; returns all that are registered, none where `forgetMs` is null. */
  async register(
    tag: string,
    queues: readonly Omit<TickQueue, "problem">[],
    forgetMs: number | null,
  ): Promise<Omit<TickQueue, "problem">[]> {
    const args = queues.flatMap((q) => [q.queue, q.maxLost, q.keepMs, q.tombstoneMs, q.deadMs]);
    const facts = list(await this.#run.register.text(tag, [forgetMs ?? "", queues.length, ...args]));
    return Array.from({ length: facts.length / 5 }, (_, n) => {
      const [queue, maxLost, keepMs, tombstoneMs, deadMs] = facts.slice(n * 5);
      return {
        queue: text(queue),
        maxLost: number(maxLost),
        keepMs: number(keepMs),
        tombstoneMs: number(tombstoneMs),
        deadMs: number(deadMs),
      };
    });
  }

  /** @param ttlMs 0 says goodbye */
  /** Returns ms since a task of these queues last lost its worker, infinity where none has. */
  async heartbeat(tag: string, worker: string, ttlMs: number, slots: ReadonlyMap<string, number>): Promise<number> {
    let sinceLossMs = Number.POSITIVE_INFINITY;
    const all = [...slots];
    // In bites: of a thousand queues one script would hold up everybody.
    for (let i = 0; i < all.length; i += BATCH_LIMIT) {
      const some = all.slice(i, i + BATCH_LIMIT);
      const since = text(await this.#run.heartbeat.text(tag, [worker, ttlMs, some.length, ...some.flat()]));
      if (since !== "") sinceLossMs = Math.min(sinceLossMs, Number(since));
    }
    return sinceLossMs;
  }

  async inspect(tag: string, items: readonly { id: string; result: boolean }[]): Promise<Inspected> {
    const args = items.flatMap((t) => [t.id, t.result ? "1" : "0"]);
    const [now, lines, tasks] = list(await this.#run.inspect.bytes(tag, [items.length, ...args]));
    return { nowMs: number(now), lines: list(lines).map(lineOf), tasks: list(tasks).map(taskRow) };
  }

  /** Writes the number of partitions where there is none yet; returns the one that is there. `tag` is that of partition 0. */
  async claim(tag: string, partitions: number): Promise<number> {
    return number(await this.#run.claim.text(tag, [partitions]));
  }

  /** Writes the deployment's secret where there is none; returns the one that is there. `tag` is that of partition 0. */
  async secret(tag: string, proposal: string): Promise<string> {
    return text(await this.#run.secret.text(tag, [proposal]));
  }

  /** Keeps an id for a task that is to come; "taken" when it is one already. */
  async allocate(tag: string, item: AllocateItem): Promise<Allocated> {
    const { id, value, ttlMs, queue, limit } = item;
    const [verdict, waiting, scheduled] = list(await this.#run.allocate.text(tag, [id, value, ttlMs, queue, limit]));
    return { verdict: text(verdict) as Allocated["verdict"], waiting: number(waiting), scheduled: number(scheduled) };
  }

  /** What was kept with an id; null when it was not allocated, or its time is over. */
  async allocation(tag: string, id: string): Promise<string | null> {
    return text(await this.#run.allocation.text(tag, [id])) || null;
  }

  async deallocate(tag: string, id: string, queue: string): Promise<void> {
    await this.#run.deallocate.text(tag, [id, queue]);
  }

  /** How many of this partition stand before some places, and how long its lines are. */
  async count(tag: string, questions: readonly Question[]): Promise<Counted[]> {
    const args = questions.flatMap((q) => [q.queue, q.equals ? "<=" : "<", q.scores.join(" ")]);
    return list(await this.#run.count.text(tag, args)).map((reply) => {
      const [waiting = 0, scheduled = 0, running = 0, ...before] = text(reply).split(" ").map(Number);
      return { waiting, scheduled, running, before };
    });
  }

  async queues(tag: string, names: readonly string[]): Promise<QueueRow[]> {
    return list(await this.#run.queue.text(tag, names)).map(queueRow);
  }
}
