import type { Result, State, TaskAction } from "../../task.ts";
import { MEMBERS, type Members, type NameOf } from "../../task-record.ts";
import { stateOf } from "../fields.ts";
import { number, type Reply, text } from "../library/verb.ts";
import { type KeyTurn, keyTurn, type Pace } from "../line/snapshot.ts";
import { decodeResult } from "./result.ts";
import { runOf } from "./run.ts";

/** What a member is of a task that does not have it, and how it is read of one that does. */
interface Form<T> {
  readonly none: T;
  read(reply: Reply): T;
}

const form = <T>(none: T, read: (reply: Reply) => T): Form<T> => ({ none, read });

/** Times are ms of Redis's clock; null if not reached. */
const FORMS = {
  word: form<string>("", text),
  text: form<string | null>(null, text),
  key: form<string | null>(null, (reply) => text(reply).replace(/^=/, "")),
  count: form<number>(0, number),
  index: form<number | null>(null, number),
  time: form<number | null>(null, number),
  span: form<number | null>(null, number),
  // NaN becomes 0, since NaN does not equal itself.
  instant: form<number>(0, (reply) => number(reply) || 0),
  flag: form<boolean>(false, () => true),
  state: form<State | null>(null, (reply) => stateOf(text(reply))),
  actions: form<readonly TaskAction[]>([], (reply) => text(reply).split(",") as TaskAction[]),
  attempts: form<number>(0, (reply) => runOf(text(reply)).attempts),
  started: form<number | null>(null, (reply) => runOf(text(reply)).startedMs),
  worker: form<string | null>(null, (reply) => runOf(text(reply)).worker || null),
  pace: form<(Pace & { readonly message: string | null }) | null>(null, paceOf),
  turn: form<KeyTurn | null>(null, (reply) => keyTurn(text(reply).split(" "))),
  result: form<Result | null>(null, (reply) => (Buffer.isBuffer(reply) ? decodeResult(reply) : null)),
  texts: form<readonly string[]>([], textsOf),
};

/** A task as the store has it; see src/task-record.ts for its members. */
export type TaskRecord = {
  readonly [N in keyof Members as NameOf<N>]: N extends "state" ? State : (typeof FORMS)[Members[N]["form"]]["none"];
};

type Entry = readonly [name: string, member: { readonly form: keyof typeof FORMS; field?: string; as?: string }];

const ENTRIES: readonly Entry[] = Object.entries(MEMBERS);
const nameOf = ([name, { as }]: Entry): string => as ?? name;

/** The fields that are members, in the order of the answer; then what the store finds out. */
export const STORED_MEMBERS = [...new Set(ENTRIES.flatMap(([, { field }]) => field ?? []))];
export const ANSWER_MEMBERS = [
  ...STORED_MEMBERS,
  ...ENTRIES.flatMap((entry) => (entry[1].field === undefined ? nameOf(entry) : [])),
];

/** The members that each place of the answer gives, and how. */
const AT = ANSWER_MEMBERS.map((answered) =>
  ENTRIES.flatMap((entry) => {
    const name = nameOf(entry);
    return (entry[1].field ?? name) === answered ? { name, read: FORMS[entry[1].form].read } : [];
  }),
);

const NONE = Object.fromEntries(ENTRIES.map((entry) => [nameOf(entry), FORMS[entry[1].form].none]));

/** Reads a task: a list of places and values, for those members that it has. Null if it is unknown. */
export function decodeTask(reply: Reply): TaskRecord | null {
  if (!Array.isArray(reply)) return null;
  const task: Record<string, unknown> = { ...NONE };
  for (let n = 0; n < reply.length; n += 2) {
    for (const { name, read } of AT[Number(reply[n]) - 1] ?? []) task[name] = read(reply[n + 1] ?? null);
  }
  return task.state === null ? null : (task as unknown as TaskRecord);
}

/** Reads "percent whole message". */
function paceOf(reply: Reply): (typeof FORMS)["pace"]["none"] {
  const [percent, totalMs, ...message] = text(reply).split(" ");
  return { percent: Number(percent) || 0, totalMs: Number(totalMs) || 0, message: message.join(" ") || null };
}

/** The strings of a JSON array; none if it is invalid. */
function textsOf(reply: Reply): string[] {
  try {
    const members: unknown = JSON.parse(text(reply));
    return Array.isArray(members) ? members.map(String) : [];
  } catch {
    return [];
  }
}
