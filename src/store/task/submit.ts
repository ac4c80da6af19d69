import type { State } from "../../task.ts";
import { OF_INPUT, SUBMIT_DEFAULTS, type SubmitOptions } from "../../wire/submission.ts";
import { SHARED } from "../constants.ts";
import { stateOf } from "../fields.ts";
import {
  type Argument,
  argumentOf,
  jsonVerb,
  list,
  named,
  names,
  optional,
  text,
  verb,
  written,
} from "../library/verb.ts";
import { type KeyTurn, keyTurn, type QueueSnapshot, snapshotOf } from "../line/snapshot.ts";

/** A task for submit.lua. */
export interface SubmitItem {
  readonly id: string;
  readonly queue: string;
  readonly input: string | Buffer;
  /** 16 bytes as 32 hex digits if the input is not stored in the hash, else "". */
  readonly digest: string;
  /** "" for application/json. */
  readonly mediaType: string;
  readonly options: Omit<SubmitOptions, "query">;
  /** JSON; "" if empty. */
  readonly query: string;
  readonly caller: string;
  /** Maximum of waiting and scheduled tasks. */
  readonly limit: number;
  /** Whether the task can be undone. */
  readonly undo: boolean;
  /** Whether its input is dropped once it has succeeded. */
  readonly dropInput: boolean;
  /** The task whose input is submitted again; left out for none. */
  readonly original?: string | undefined;
  /** Of a turn: for how long it may last, ms, 0 for any time; left out for a task of workers. */
  readonly turn?: number | undefined;
  /** The process to notify of its end; left out or "" for none. */
  readonly listener?: string;
  /** "weight key" in a fair line; left out in any other. */
  readonly share?: string | undefined;
  /**
   * "limit key" in a keyed line, "limit" if it has no key; "limit/most key" if at most `most` tasks of a key may wait; left out in any
   * other line.
   */
  readonly key?: string | undefined;
  /** The trace context of the submitter, see the field in fields.ts; "" or undefined for none. */
  readonly trace?: string | undefined;
  /** The group that it joins; left out for none. */
  readonly group?: string | undefined;
  /** The line of its batch, if it joins a group. */
  readonly line?: string | undefined;
}

/** The verdict, see submit.lua. */
export type SubmitVerdict =
  | "new"
  | "replay"
  | "conflict"
  | "elsewhere"
  | "foreign"
  | "full"
  | "webhooks-full"
  | "too-many"
  | "long"
  | "late"
  | "far"
  | "closed"
  | "dry";

/** The facts if too many tasks of a line key wait. */
export interface LimitReached {
  /** How many may wait. */
  readonly limit: number;
  readonly waiting: number;
  readonly running: number;
  /** The place of the first of them to start. */
  readonly first: {
    readonly state: "waiting" | "scheduled";
    readonly index: number | null;
    readonly dueInMs: number | null;
    readonly turn: KeyTurn | null;
  };
}

/** The reply of submit.lua for a task. */
export interface SubmitAnswer {
  readonly verdict: SubmitVerdict;
  readonly state: State | null;
  readonly index: number | null;
  /** When the task was stored, possibly by an earlier submission; 0 if there is none. */
  readonly createdMs: number;
  /** In how many ms a task that is or would be scheduled joins the line; null for any other. */
  readonly dueInMs: number | null;
  /** Of a turn that has begun with its submission. */
  readonly fence?: string | undefined;
  /** Of a new task in a keyed line. */
  readonly turn: KeyTurn | null;
  /** Of the verdict `replay` for a submission to a group: that of the task, null for none. */
  readonly group?: string | null;
  /** Of the verdict `too-many`. */
  readonly reached?: LimitReached | undefined;
}

/** The reply of submit.lua for all tasks. */
interface SubmittedBatch {
  readonly snapshots: readonly QueueSnapshot[];
  readonly verdicts: readonly SubmitAnswer[];
  /** Whether all of it has the requested durability. */
  readonly durable: boolean;
}

const { query: _, ...DEFAULTS } = SUBMIT_DEFAULTS;
const NAMES = Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[];
const BESIDE = names<SubmitItem>("query", "mediaType", "caller", "undo", "dropInput", "original", "group", "turn");

/** The values that tasks submitted together mostly share: the options of their callers, "" for the default, and some others. */
const OPTIONS = [...NAMES, ...BESIDE];

/**
 * Of each group of consecutive tasks with the same queue, limit and options. `listener`: of all of them; `options`: "1" if they follow, else they
 * are the defaults; `tasks`: how many these are; `lists`: which of OWN follow.
 */
const GROUP = ["queue", "limit", "listener", "options", "tasks", "lists"] as const;

/** Then come the ids of all tasks of the group, all inputs, and the lists below if one of the tasks has such a value. */
const OWN = {
  digests: "digest",
  shares: "share",
  keys: "key",
  traces: "trace",
  listeners: "listener",
  lines: "line",
} as const;
const OWN_LISTS = Object.entries(OWN) as [keyof typeof OWN, (typeof OWN)[keyof typeof OWN]][];

const ANSWER = ["snapshots", "verdicts"] as const;

/** Stores tasks and adds them to the line. */
export const submit = {
  ...verb({
    layout: { args: ["groups"], group: GROUP, options: OPTIONS, answer: ANSWER },
    confirmed: true,
    write: submitArguments,
    read: (reply, durable): SubmittedBatch => {
      const { snapshots, verdicts } = named(ANSWER, reply);
      return { durable, snapshots: list(snapshots).map(snapshotOf), verdicts: submittedOf(text(verdicts)) };
    },
  }),
  weights: { sizeOf: ({ input }: SubmitItem) => input.length, workOf, queueOf: ({ queue }: SubmitItem) => queue },
};

/** A task of a fair or keyed line looks for a place of its own, and a member joins its group, so that fewer of them fit in a call of 5 ms. */
function workOf({ share, key, group }: SubmitItem): number {
  if (share !== undefined) return SHARED.moveWork;
  return key === undefined && group === undefined ? 1 : 2;
}

/** Each argument and each element of a reply costs the client more than Redis: what consecutive tasks share is sent once. */
function submitArguments(items: readonly SubmitItem[]): Argument[] {
  const args: Argument[] = [0];
  let groups = 0;
  let [first] = items;
  for (let from = 0; first !== undefined; groups += 1) {
    let end = from + 1;
    let next = items[end];
    for (; next !== undefined && isOfGroup(first, next); next = items[end]) end += 1;
    pushGroup(args, first, items.slice(from, end));
    from = end;
    first = next;
  }
  args[0] = groups;
  return args;
}

function isOfGroup(a: SubmitItem, b: SubmitItem): boolean {
  return a.queue === b.queue && a.limit === b.limit && haveSameOptions(a, b);
}

function pushGroup(args: Argument[], first: SubmitItem, group: readonly SubmitItem[]): void {
  const { queue, limit, listener = "" } = first;
  const { options } = first;
  const beside = written(BESIDE, first);
  const hasOptions = !areSame(options, SUBMIT_DEFAULTS) || beside.some((value) => value !== "");
  const own = OWN_LISTS.filter(([, name]) =>
    name === "listener" ? group.some((item) => item.listener !== first.listener) : group.some((item) => item[name]),
  );
  const lists = own.map(([list]) => list).join(" ");
  const common = lists.includes("listeners") ? "" : listener;
  args.push(...written(GROUP, { queue, limit, listener: common, options: hasOptions, tasks: group.length, lists }));
  if (hasOptions) {
    for (const name of NAMES) args.push(options[name] === DEFAULTS[name] ? "" : argumentOf(options[name]));
    args.push(...beside);
  }
  for (const { id } of group) args.push(id);
  for (const { input } of group) args.push(input);
  for (const [, name] of own) for (const item of group) args.push(item[name] ?? "");
}

function haveSameOptions(a: SubmitItem, b: SubmitItem): boolean {
  return areSame(a.options, b.options) && BESIDE.every((name) => a[name] === b[name]);
}

/** Mostly they are the very same. */
const areSame = (a: SubmitItem["options"], b: SubmitItem["options"]): boolean =>
  a === b || NAMES.every((name) => a[name] === b[name]);

/** Reads the lines of verdicts. */
function submittedOf(lines: string): SubmitAnswer[] {
  const all: SubmitAnswer[] = [];
  for (const line of lines.split("\n")) {
    if (line.startsWith("+")) repeatLast(all, Number(line));
    else all.push(submitted(line));
  }
  return all;
}

/** Adds more tasks like the last, each with the next index. */
function repeatLast(all: SubmitAnswer[], times: number): void {
  const last = all.at(-1);
  if (!last) return;
  for (let n = 1; n <= times; n += 1) all.push({ ...last, index: Number(last.index) + n });
}

function submitted(snapshot: string): SubmitAnswer {
  const words = snapshot.split(" ");
  const [verdict = "", state = "", index = "", created = "", ...more] = words;
  if (verdict === "too-many") {
    const none = { state: null, index: null, createdMs: 0, dueInMs: null, turn: null };
    return { verdict, ...none, reached: limitReached(words) };
  }
  if (verdict === "replay") {
    const [dueIn = "", group = ""] = more;
    const facts = { state: stateOf(state), index: optional(index), createdMs: Number(created) };
    return { verdict, ...facts, dueInMs: optional(dueIn), turn: null, group: group || null };
  }
  if (verdict === "new" && stateOf(state) === "running") {
    const begun = { state: "running", index: 0, createdMs: Number(created), fence: more[0] } as const;
    return { verdict: "new", ...begun, dueInMs: null, turn: null };
  }
  return {
    verdict: verdict as SubmitVerdict,
    state: stateOf(state),
    index: optional(index),
    createdMs: Number(created),
    dueInMs: optional(more.length === 1 ? (more[0] ?? "") : ""),
    turn: keyTurn(more),
  };
}

/** Reads the words of Keyed.refusal in line/keyed.lua. */
function limitReached([, state = "", index = "", dueIn = "", ...words]: readonly string[]): LimitReached {
  const [limit, waiting, running] = words.slice(3).map(Number);
  const isWaiting = stateOf(state) === "waiting";
  return {
    ...{ limit: limit ?? 0, waiting: waiting ?? 0, running: running ?? 0 },
    first: {
      state: isWaiting ? "waiting" : "scheduled",
      index: optional(index),
      dueInMs: optional(dueIn),
      turn: isWaiting ? keyTurn(words) : null,
    },
  };
}

/** The new input of a task. */
interface Replacement extends Pick<SubmitItem, "id" | "input" | "digest" | "mediaType" | "query" | "key" | "options"> {
  /** Unique to this call, see library/call.lua. */
  readonly call: string;
  /** Replace only if it has been replaced this often before; left out: any number. */
  readonly revision?: number | undefined;
}

/** The verdict, see submit.lua. */
export type UpdateVerdict = "updated" | "conflict" | "changed" | "unknown" | LimitReached;

/** What goes with the input, in fields of these names. */
const FIELDS = ["mediaType", "query", ...OF_INPUT] as const;

/** Replaces the input of a task that has not begun. */
export const update = jsonVerb<Replacement, UpdateVerdict>({
  raw: "input",
  sent: ({ options, mediaType, query, ...of }) => {
    const given = { ...options, mediaType, query };
    return { ...of, fields: Object.fromEntries(FIELDS.map((name) => [name, String(argumentOf(given[name]))])) };
  },
  read: (verdict: string) =>
    verdict.startsWith("too-many ") ? limitReached(verdict.split(" ")) : (verdict as UpdateVerdict),
});

interface Repetition {
  readonly id: string;
  readonly createdMs: number;
  /** The task that was submitted with its input. */
  readonly again: string;
}

/** Notes which task was submitted with the input of another. */
export const again = jsonVerb<Repetition, "noted" | "unknown">();
