import { named, verb, verbOnOne, word } from "../../store/verbs/codec.ts";
import { list, number, optional, type Reply, text } from "../../store/verbs/reply.ts";
import type { Retention } from "../../store/verbs/settle.ts";
import { type KeyTurn, keyTurn, type QueueSnapshot, snapshotOf } from "../../store/verbs/snapshot.ts";
import type { State } from "../../task.ts";

/** A group to be opened, or to which a batch is added. */
export interface GroupOpening extends Retention {
  readonly id: string;
  readonly queue: string;
  /** "" for none. */
  readonly caller: string;
  /** "" for none. */
  readonly webhook: string;
  /** Maximum number of waiting webhook deliveries. */
  readonly limit: number;
  /** After how long without a look it is canceled; "" for never. */
  readonly presenceMs: number | "";
  /** How long it stays open without a new member. */
  readonly openMs: number;
}

/** The verdict, see groups.lua. */
export type GroupOpeningVerdict = "new" | "open" | "closed" | "elsewhere" | "foreign" | "webhooks-full";

/** The verdict, see groups.lua. */
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

/** A group as returned by groups.lua. Times are ms; null if not reached. */
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

/** The answer to an opening, see groups.lua. */
interface OpenedGroup {
  readonly verdict: GroupOpeningVerdict;
  readonly createdMs: number;
  /** The number of the first line of the batch. */
  readonly firstLine: number;
}

/** Opens a group, or adds to one. */
export const openGroup = verbOnOne<GroupOpening, OpenedGroup>(
  ["id", "queue", "caller", "webhook", "limit", "presenceMs", "openMs", "keepMs", "tombstoneMs"],
  (reply) => {
    const [verdict, created, firstLine] = list(reply);
    return { verdict: word(verdict), createdMs: number(created), firstLine: number(firstLine) };
  },
);

/** The end of a batch of a group. */
export interface BatchEnd {
  readonly id: string;
  /** How many lines the group has had so far. */
  readonly lines: number;
  /** Whether the group accepts no more members. */
  readonly closes: boolean;
}

/** Notes the end of a batch. */
export const endBatch = verbOnOne<BatchEnd, string>(["id", "lines", "closes"]);

/** Closes a group and cancels some of its members. */
export const cancelGroup = verbOnOne<{ readonly id: string; readonly max: number }, GroupCancelVerdict>(["id", "max"]);

const GROUP = [
  ...(["queue", "caller", "created", "closed", "canceled", "finished", "expires"] as const),
  ...(["counts", "last", "latest", "presence"] as const),
] as const;
const ANSWER = ["nowMs", "snapshots", "groups"] as const;

const LAYOUT = { item: ["id"], answer: ANSWER, group: GROUP };

/** Reads groups. */
export const group = verb({
  layout: LAYOUT,
  write: (ids: readonly string[]) => [ids.length, ...ids],
  read: readGroups,
});

/** The same, and adds a process to the listeners of the groups. */
export const watchGroups = verb({
  layout: { args: ["process"], ...LAYOUT },
  write: (process: string, ids: readonly string[]) => [process, ids.length, ...ids],
  read: readGroups,
});

function readGroups(reply: Reply): ReadGroups {
  const of = named(ANSWER, reply);
  const groups = list(of.groups).map((row) => (Array.isArray(row) ? groupRow(named(GROUP, row)) : null));
  return { nowMs: number(of.nowMs), snapshots: list(of.snapshots).map(snapshotOf), groups };
}

/** The states by their numbers in group.lua; 4 is running as well, with a requested cancel. */
const STATES: readonly State[] = [
  ...(["waiting", "scheduled", "retrying", "running", "running", "succeeded", "failed", "canceled"] as const),
];

/** Reads members of a group, in the order in which they joined or ended. */
export const members = verbOnOne<MemberPage & { readonly id: string }, Member[]>(
  ["id", "by", "from", "count"],
  (reply) => list(reply).map((entry) => memberOf(text(entry))),
);

/** Begins to follow the results of a group: how many had ended when that was first done; null for an unknown group. */
export const followGroup = verbOnOne<{ readonly id: string }, number | null>(["id"], optional);

function groupRow(of: Record<(typeof GROUP)[number], Parameters<typeof text>[0]>): GroupRow {
  // In the order of the numbers in group.lua.
  const [
    waiting = 0,
    scheduled = 0,
    retrying = 0,
    running = 0,
    canceling = 0,
    succeeded = 0,
    failed = 0,
    canceled = 0,
  ] = text(of.counts).split(" ").map(Number);
  const [index = "", ...turn] = text(of.last).split(" ");
  const [due = "", begun = ""] = text(of.latest).split(" ");
  const [presence = "", presentUntil = ""] = text(of.presence).split(" ");
  return {
    queue: text(of.queue),
    caller: text(of.caller),
    createdMs: number(of.created),
    closedMs: optional(of.closed),
    canceledMs: optional(of.canceled),
    finishedMs: optional(of.finished),
    expiresMs: optional(of.expires),
    counts: { waiting, scheduled, retrying, running: running + canceling, succeeded, failed, canceled },
    canceling,
    index: optional(index),
    turn: keyTurn(turn),
    dueMs: optional(due),
    begunMs: optional(begun),
    presenceMs: optional(presence),
    presentUntilMs: optional(presentUntil),
  };
}

function memberOf(entry: string): Member {
  const [number = "", line = "", end = "", id = ""] = entry.split(" ");
  return { id, line: Number(line), state: STATES[Number(number)] ?? null, end: end === "-" ? null : Number(end) };
}
