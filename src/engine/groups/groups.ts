import { randomUUID } from "node:crypto";
import type { Keys } from "../../store/keys.ts";
import {
  BATCH_LIMIT,
  type GroupCancelVerdict,
  type GroupOpeningVerdict,
  type MemberPage,
  type Scripts,
} from "../../store/verbs/scripts.ts";
import { Batch } from "../calls/batch.ts";
import { groupAddress, type Homes, pointerBatch } from "../partitions/homes.ts";
import type { OtherPartitions } from "../partitions/other-partitions.ts";
import { type QueueSettings, retentionOf } from "../settings.ts";
import { type GroupInspection, viewOf } from "./group-inspection.ts";

/** How long a group that is not closed stays open without a new member, ms. */
const OPEN_MS = 3_600_000;

/** The dependencies of {@link Groups}. */
interface GroupsParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly homes: Homes;
  readonly others: OtherPartitions;
}

/** A group to be opened, or to which a batch is added. */
interface Opening {
  /** Null for a new one. */
  readonly id: string | null;
  readonly caller: string | null;
  readonly webhook: string | null;
}

/** An open group. */
export interface OpenGroup {
  readonly id: string;
  readonly createdMs: number;
  /** Makes an id for a member: one that belongs to the partition of the group, so that it needs no pointer. */
  memberId(): string;
  /** Lets it take no more members. @throws ProblemError store-unavailable */
  close(): Promise<void>;
}

/** A group read in its partition; null if it is not there. */
type Found = GroupInspection | null;

/**
 * Groups of tasks. All members of a group are in one partition: that of the group's id, but for a keyed queue that of the queue, to which
 * the partition of the id then has a pointer, as for a task.
 */
export class Groups {
  readonly #parts: GroupsParts;
  readonly #looks: Batch<string, Found>;
  readonly #pointers: ReturnType<typeof pointerBatch>;

  constructor(parts: GroupsParts) {
    const { scripts, keys, others } = parts;
    this.#parts = parts;
    this.#pointers = pointerBatch(scripts, keys);
    this.#looks = new Batch({
      send: async (partition, ids) => {
        const { nowMs, snapshots, groups } = await scripts.group(keys.tag(partition), ids);
        const seen = groups.map((row, n) => {
          const snapshot = row && snapshots.find(({ queue }) => queue === row.queue);
          return row && snapshot ? { id: ids[n] ?? "", row, index: row.index, score: row.score, snapshot } : null;
        });
        const places = (
          await others.widen(
            partition,
            seen.flatMap((one) => one ?? []),
          )
        ).values();
        return seen.map((one) => one && viewOf(one.id, one.row, places.next().value ?? one, nowMs));
      },
    });
  }

  /**
   * Opens a group, or finds an open one to which a batch may be added.
   * @throws ProblemError store-unavailable, store-full
   */
  async open(
    { id, caller, webhook }: Opening,
    settings: QueueSettings,
  ): Promise<OpenGroup | Exclude<GroupOpeningVerdict, "open">> {
    const { scripts, keys, homes } = this.#parts;
    const { queue, keyedConcurrency, maxWaiting } = settings;
    const isKeyed = keyedConcurrency !== undefined;
    const known = id ?? (isKeyed ? this.#idIn(keys.partitionOf(queue)) : randomUUID());
    const home = keys.partitionOf(isKeyed ? queue : known);
    if (home !== keys.partitionOf(known)) {
      const pointer = { id: groupAddress(known), queue, caller: caller ?? "", home };
      const { verdict } = await this.#pointers.add(keys.partitionOf(known), pointer);
      if (verdict === "taken") return "closed";
      homes.note(groupAddress(known), home);
    }
    const limit = Math.ceil(maxWaiting / keys.partitions);
    const opening = { id: known, queue, caller: caller ?? "", webhook: webhook ?? "", limit, openMs: OPEN_MS };
    const { verdict, createdMs } = await scripts.openGroup(keys.tag(home), { ...opening, ...retentionOf(settings) });
    if (verdict !== "open") return verdict;
    const close = () => scripts.closeGroup(keys.tag(home), known);
    return { id: known, createdMs, memberId: () => this.#idIn(home), close };
  }

  /** The group, or null if it is unknown. @throws ProblemError store-unavailable */
  inspect(id: string): Promise<GroupInspection | null> {
    return this.#parts.homes.at(groupAddress(id), (partition) => this.#looks.add(partition, id), isNull);
  }

  /**
   * Begins to cancel all its members that have not ended. The first are canceled at once, the others afterwards, some in each call. Returns
   * "ended" if there was nothing to cancel.
   * @throws ProblemError store-unavailable
   */
  async cancel(id: string): Promise<"canceled" | "ended" | "unknown"> {
    const verdict = await this.#cancelSome(id);
    if (verdict !== "more") return verdict;
    // If it fails, or this process ends, ticks go on.
    this.#cancelRest(id).catch(() => undefined);
    return "canceled";
  }

  async #cancelRest(id: string): Promise<void> {
    while ((await this.#cancelSome(id)) === "more");
  }

  #cancelSome(id: string): Promise<GroupCancelVerdict> {
    const { scripts, keys, homes } = this.#parts;
    const some = (partition: number) => scripts.cancelGroup(keys.tag(partition), id, BATCH_LIMIT);
    return homes.at(groupAddress(id), some, (answer) => answer === "unknown");
  }

  /** Some of its members, in the order in which they joined. @throws ProblemError store-unavailable */
  members(id: string, from: number, count: number): Promise<MemberPage> {
    const { scripts, keys, homes } = this.#parts;
    const read = (partition: number) => scripts.members(keys.tag(partition), id, from, count);
    return homes.at(groupAddress(id), read, ({ total }) => total === 0);
  }

  #idIn(partition: number): string {
    const { keys } = this.#parts;
    for (;;) {
      const id = randomUUID();
      if (keys.partitionOf(id) === partition) return id;
    }
  }
}

const isNull = (found: Found): boolean => found === null;
