import { randomUUID } from "node:crypto";
import { Batch } from "../../engine/calls/batch.ts";
import { groupAddress, pointerBatch } from "../../engine/calls/homes.ts";
import type { Engine } from "../../engine/engine.ts";
import { type QueueSettings, retentionOf } from "../../engine/settings.ts";
import { SHARED } from "../../store/constants.ts";
import type { CallsOf } from "../../store/library/scripts.ts";
import { BATCH_LIMIT } from "../../store/library/verb.ts";
import type { AttendVerdict } from "../../store/task/deadlines.ts";
import { type GroupInspection, isGroupKeptByLooks, viewOf } from "./group-inspection.ts";
import type { BatchEnd, GroupCancelVerdict, GroupOpeningVerdict, Member, MemberPage, ReadGroups } from "./verbs.ts";
import * as VERBS from "./verbs.ts";

/** How long a group that is not closed stays open without a new member, ms. */
const OPEN_MS = 3_600_000;

/** A group to be opened, or to which a batch is added. */
interface Opening {
  /** Null for a new one. */
  readonly id: string | null;
  readonly caller: string | null;
  readonly webhook: string | null;
  /** After how long without a look it is canceled; null for never. */
  readonly presenceMs?: number | null;
}

/** A group to which a batch is added. */
export interface BatchGroup {
  readonly id: string;
  readonly createdMs: number;
  /** `new`: it is stored with its first member; `closed`: it takes no new members, but its batches may be repeated. */
  readonly state: "new" | "open" | "closed";
  /** The number of the first line of the batch. */
  readonly firstLine: number;
  /** Ends the batch, after which the group has had so many lines. @throws ProblemError store-unavailable */
  endBatch(end: Pick<BatchEnd, "lines" | "closes">): Promise<unknown>;
}

/** What a look at a group does besides. */
interface InspectGroupOptions {
  /** Whether it counts for the presence of the group. Default: no. */
  attends?(seen: GroupInspection): boolean;
  /** Add this process to the group's record, so that it is notified of every later change. Default: no. */
  readonly listen?: boolean;
}

/** A group read in its partition; null if it is not there. */
type Found = GroupInspection | null;

/** Groups of tasks. All of a group is in the partition of its queue; one whose id leads elsewhere has a pointer there, as a task has. */
export class Groups {
  readonly #engine: Pick<Engine, "keys" | "homes" | "call">;
  readonly #verbs: CallsOf<typeof VERBS>;
  readonly #looks: Batch<string, Found>;
  /** Looks that add this process to the listeners of a group. */
  readonly #watches: Batch<string, Found>;
  readonly #pointers: ReturnType<typeof pointerBatch>;

  constructor(engine: Pick<Engine, "scripts" | "keys" | "homes" | "call" | "notices">) {
    const { scripts, keys, notices } = engine;
    const verbs = scripts.of(VERBS);
    this.#engine = engine;
    this.#verbs = verbs;
    this.#pointers = pointerBatch(scripts, keys);
    this.#looks = batchOf((partition, ids) => verbs.group(keys.tag(partition), { items: ids }));
    this.#watches = batchOf((partition, ids) =>
      verbs.watchGroups(keys.tag(partition), { process: notices.process, items: ids }),
    );
  }

  /**
   * Opens a group, or finds one of the caller for the same queue.
   * @throws ProblemError store-unavailable, store-full
   */
  async open(
    { id, caller, webhook, presenceMs }: Opening,
    settings: QueueSettings,
  ): Promise<BatchGroup | Exclude<GroupOpeningVerdict, BatchGroup["state"]>> {
    const { keys } = this.#engine;
    const { queue, maxWaiting } = settings;
    const home = keys.partitionOfQueue(queue);
    const known = id ?? keys.idIn(home, () => randomUUID());
    // Also where the id leads to the queue: a group of another queue must find that the id is taken.
    if (id !== null && keys.partitions > 1) {
      const pointer = { id: groupAddress(id), queue, caller: caller ?? "", home };
      const { verdict } = await this.#pointers.add(keys.partitionOf(id), pointer);
      if (verdict === "foreign") return verdict;
      if (verdict === "taken") return "elsewhere";
    }
    const opening = {
      id: known,
      queue,
      caller: caller ?? "",
      webhook,
      presenceMs,
      limit: maxWaiting,
      openMs: OPEN_MS,
    } as const;
    const opened = await this.#verbs.openGroup(keys.tag(home), { ...opening, ...retentionOf(settings) });
    const { verdict: state, createdMs, firstLine } = opened;
    if (state !== "new" && state !== "open" && state !== "closed") return state;
    return {
      ...{ id: known, createdMs, state, firstLine },
      endBatch: (end) => this.#verbs.endBatch(keys.tag(home), { id: known, ...end }),
    };
  }

  /**
   * The group, or null if it is unknown.
   * @throws ProblemError store-unavailable
   */
  async inspect(id: string, { attends, listen }: InspectGroupOptions = {}): Promise<GroupInspection | null> {
    const batch = listen ? this.#watches : this.#looks;
    const seen = await this.#engine.homes.at(groupAddress(id), (partition) => batch.add(partition, id), isNull);
    if (!seen || !isGroupKeptByLooks(seen) || !attends?.(seen)) return seen;
    // The next look stores it; the group was read anyway.
    await this.attend(seen).catch(() => null);
    return { ...seen, presentUntilMs: seen.nowMs + (seen.presenceMs ?? 0) };
  }

  /** Somebody has looked at it. @throws ProblemError store-unavailable */
  attend({ id, queue, presenceMs }: GroupInspection): Promise<AttendVerdict> {
    return this.#engine.call("attend", { id: groupAddress(id), queue, presenceMs, deadlineMs: null });
  }

  /**
   * Begins to cancel all its members that have not ended. The first are canceled at once, the others afterwards, some in each call. Returns
   * "ended" if there was nothing to cancel.
   * @throws ProblemError store-unavailable
   */
  async cancel(id: string, queue: string): Promise<"canceled" | "ended" | "unknown"> {
    const verdict = await this.#cancelSome(id, queue);
    if (verdict !== "more") return verdict;
    // If it fails, or this process ends, ticks go on.
    this.#cancelRest(id, queue).catch(() => undefined);
    return "canceled";
  }

  async #cancelRest(id: string, queue: string): Promise<void> {
    while ((await this.#cancelSome(id, queue)) === "more");
  }

  #cancelSome(id: string, queue: string): Promise<GroupCancelVerdict> {
    return this.#verbs.cancelGroup(this.#engine.keys.tagOfQueue(queue), { id, max: BATCH_LIMIT / SHARED.moveWork });
  }

  /** Some of its members, in the order in which they joined or ended. @throws ProblemError store-unavailable */
  members(id: string, queue: string, page: MemberPage): Promise<readonly Member[]> {
    return this.#verbs.members(this.#engine.keys.tagOfQueue(queue), { ...page, id });
  }

  /**
   * Somebody follows its results: how many of its members had ended when that was first done, and are so sent first, in the order in which
   * they joined; null for an unknown group.
   * @throws ProblemError store-unavailable
   */
  follow(id: string, queue: string): Promise<number | null> {
    return this.#verbs.followGroup(this.#engine.keys.tagOfQueue(queue), { id });
  }
}

function batchOf(look: (partition: number, ids: readonly string[]) => Promise<ReadGroups>): Batch<string, Found> {
  return new Batch({
    send: async (partition, ids) => {
      const { nowMs, snapshots, groups } = await look(partition, ids);
      return groups.map((row, n) => {
        const snapshot = row && snapshots.find(({ queue }) => queue === row.queue);
        return row && snapshot ? viewOf(ids[n] ?? "", row, snapshot, nowMs) : null;
      });
    },
  });
}

const isNull = (found: unknown): boolean => found === null;

const made = new WeakMap<Engine, Groups>();

/** The groups of an engine. */
export function groupsOf(engine: Engine): Groups {
  const groups = made.get(engine) ?? new Groups(engine);
  made.set(engine, groups);
  return groups;
}
