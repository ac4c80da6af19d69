import { jsonVerb, list, type Reply } from "../../store/library/verb.ts";
import { type KeyTurn, keyTurn, type QueueSnapshot, snapshotOf } from "../../store/line/snapshot.ts";
import type { Retention } from "../../store/task/record.ts";
import type { State } from "../../task.ts";

/** A group to be opened, or to which a batch is added. */
export interface GroupOpening extends Retention {
  readonly id: string;
  readonly queue: string;
  /** "" for none. */
  readonly caller: string;
  readonly webhook: string | null;
  /** Maximum number of waiting webhook deliveries. */
  readonly limit: number;
  /** After how long without a look it is canceled; null or left out: never. */
  readonly presenceMs?: number | null | undefined;
  /** How long it stays open without a new member. */
  readonly openMs: number;
}

/** The verdict, see verbs.lua. */
export type GroupOpeningVerdict = "new" | "open" | "closed" | "elsewhere" | "foreign" | "webhooks-full";

/** The verdict, see verbs.lua. */
export type GroupCancelVerdict = "more" | "canceled" | "ended" | "unknown";

/** How many members are in each state. */
export interface MemberCounts {
  readonly waiting: number;
  readonly scheduled: number;
  readonly retrying: number;
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

/** A group as returned by verbs.lua. Times are ms; null if not reached. */
export interface GroupRow {
  readonly queue: string;
  readonly caller: string;
  readonly createdMs: number;
  readonly closedMs: number | null;
  readonly canceledMs: number | null;
  readonly finishedMs: number | null;
  readonly expiresMs: number | null;
  readonly counts: MemberCounts;
  /** How many of the running members were asked to stop. */
  readonly canceling: number;
  /** The place of the last member in line, null if none waits; and its turn in a keyed line. */
  readonly index: number | null;
  readonly turn: KeyTurn | null;
  /** When the latest scheduled or retrying member is due, and when the latest running one began. */
  readonly dueMs: number | null;
  readonly begunMs: number | null;
  /** After how long without a look it is canceled, and when that is unless somebody looks. */
  readonly presenceMs: number | null;
  readonly presentUntilMs: number | null;
}

/** Groups and the figures of their queues, all at the same instant. */
export interface ReadGroups {
  readonly nowMs: number;
  readonly snapshots: readonly QueueSnapshot[];
  readonly groups: readonly (GroupRow | null)[];
}

/** A member of a group. */
export interface Member {
  readonly id: string;
  /** The line that brought it, counted through the whole group. */
  readonly line: number;
  /** Null if the store has lost it. */
  readonly state: State | null;
  /** Which one of those that have ended it was, from 0; null if it has not. */
  readonly end: number | null;
}

/** Which members are read: so many from a line on, or from an end on. */
export interface MemberPage {
  readonly by: "line" | "end";
  readonly from: number;
  readonly count: number;
}

/** The answer to an opening, see verbs.lua. */
interface OpenedGroup {
  readonly verdict: GroupOpeningVerdict;
  readonly createdMs: number;
  /** The number of the first line of the batch. */
  readonly firstLine: number;
}

/** Opens a group, or adds to one. */
export const openGroup = jsonVerb<GroupOpening, OpenedGroup>();

/** The end of a batch of a group. */
export interface BatchEnd {
  readonly id: string;
  /** How many lines the group has had so far. */
  readonly lines: number;
  /** Whether the group accepts no more members. */
  readonly closes: boolean;
}

/** Notes the end of a batch. */
export const endBatch = jsonVerb<BatchEnd, null>();

/** Closes a group and cancels some of its members. */
export const cancelGroup = jsonVerb<{ readonly id: string; readonly max: number }, GroupCancelVerdict>();

/** Which groups are read. */
interface GroupsRequest {
  readonly items: readonly string[];
}

/** A group as verbs.lua answers it. */
interface StoredGroup extends Omit<GroupRow, "counts" | "canceling" | "turn"> {
  /** In the order of the numbers in group.lua. */
  readonly counts: readonly [number, number, number, number, number, number, number, number];
  /** Words, see {@link keyTurn}. */
  readonly turn: string;
}
interface StoredGroups {
  readonly nowMs: number;
  readonly groups: readonly (StoredGroup | null)[];
}

/** Reads groups. */
export const group = jsonVerb<GroupsRequest, ReadGroups>({ read: readGroups });

/** The same, and adds a process to the listeners of the groups. */
export const watchGroups = jsonVerb<GroupsRequest & { readonly process: string }, ReadGroups>({ read: readGroups });

function readGroups({ nowMs, groups }: StoredGroups, { beside }: { readonly beside: Reply | undefined }): ReadGroups {
  return { nowMs, snapshots: list(beside).map(snapshotOf), groups: groups.map((of) => of && groupRow(of)) };
}

/** The states by their numbers in group.lua; 4 is running as well, with a requested cancel. */
const STATES: readonly State[] = [
  ...(["waiting", "scheduled", "retrying", "running", "running", "succeeded", "failed", "canceled"] as const),
];

/** Reads members of a group, in the order in which they joined or ended. */
export const members = jsonVerb<MemberPage & { readonly id: string }, readonly Member[]>({
  read: (entries: readonly (Omit<Member, "state"> & { readonly state: number | null })[]) =>
    entries.map((of) => ({ ...of, state: of.state === null ? null : (STATES[of.state] ?? null) })),
});

/** Begins to follow the results of a group: how many had ended when that was first done; null for an unknown group. */
export const followGroup = jsonVerb<{ readonly id: string }, number | null>();

function groupRow({ counts, turn, ...of }: StoredGroup): GroupRow {
  const [waiting, scheduled, retrying, running, canceling, succeeded, failed, canceled] = counts;
  const all = { waiting, scheduled, retrying, running: running + canceling, succeeded, failed, canceled };
  return { ...of, counts: all, canceling, turn: keyTurn(turn.split(" ")) };
}
