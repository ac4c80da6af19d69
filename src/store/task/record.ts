import type { Answer, Result, State, TaskAction } from "../../task.ts";
import { MEMBERS, type Members, type NameOf } from "../../task-record.ts";
import { SHARED } from "../constants.ts";
import { stateOf } from "../fields.ts";
import { number, type Reply, text } from "../library/verb.ts";
import { type KeyTurn, keyTurn, type Pace } from "../line/snapshot.ts";

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
  fence: form<string | null>(null, (reply) => text(reply).split(" ", 1)[0] ?? null),
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

const FENCES_A_MS = 10 ** SHARED.fenceDigits;

/** The facts about the last run of a task. */
interface Run {
  /** How many attempts have begun. */
  readonly attempts: number;
  /** When the last one began; null if none has, or if it was handed back. */
  readonly startedMs: number | null;
  /** The end of the name of its worker; "" if it has none and had none last. */
  readonly worker: string;
}

/** Reads the field `run`, see task/run.lua; "" if the task was never reserved. */
export function runOf(run: string): Run {
  const [fence, late = "-", attempts, _place, worker = ""] = run.split(" ");
  const startedMs = SHARED.epochMs + Math.floor(Number(fence) / FENCES_A_MS) + Number(late);
  return { attempts: Number(attempts) || 0, startedMs: Number.isFinite(startedMs) ? startedMs : null, worker };
}

/** The part of a worker's name that the record of a task has. */
export function workerEnd(worker: string): string {
  return Buffer.from(worker).subarray(-SHARED.workerBytes).toString();
}

/** The stored form of a result: one JSON line, empty for the usual head, then the body as it is. */
interface Head {
  s: number;
  t?: string;
  h?: Readonly<Record<string, string>>;
}

const NEWLINE = 0x0a;
/** What an empty line stands for. */
const USUAL: Head = { s: 200, t: "application/json" };

/** Writes a result as `r:<id>` holds it: a string if its body is one. */
export function encodeResult({ status, contentType, headers, body }: Answer): string | Buffer {
  const head: Head = { s: status };
  if (contentType !== null) head.t = contentType;
  const isPlain = Object.keys(headers).length === 0;
  if (!isPlain) head.h = headers;
  const isUsual = isPlain && status === USUAL.s && contentType === USUAL.t;
  const line = isUsual ? "\n" : `${JSON.stringify(head)}\n`;
  return typeof body === "string" ? line + body : Buffer.concat([Buffer.from(line), body]);
}

/** Whether the beginning of a stored result has all of its head and some of its body, so that it does not look like an empty result. */
export function hasHead(start: Buffer): boolean {
  return start.subarray(0, -1).includes(NEWLINE);
}

/**
 * Reads what {@link encodeResult} wrote. Never throws: an unreadable record gets status 500 and all its bytes as the body, so
 * that the rest of its task can still be shown.
 */
export function decodeResult(stored: Buffer): Result {
  const end = stored.indexOf(NEWLINE);
  const head = end < 0 ? undefined : end === 0 ? USUAL : headOf(stored.toString("utf8", 0, end));
  if (!head) return { status: 500, contentType: "application/octet-stream", headers: {}, body: stored };
  return { status: head.s, contentType: head.t ?? null, headers: head.h ?? {}, body: stored.subarray(end + 1) };
}

function headOf(line: string): Head | undefined {
  try {
    const head = JSON.parse(line) as Partial<Record<keyof Head, unknown>> | null;
    const { s, t = "", h = {} } = head ?? {};
    const status = typeof s === "number" && Number.isInteger(s) && s >= 200 && s <= 599;
    const isText = (value: unknown) => typeof value === "string";
    const headers = typeof h === "object" && h !== null && Object.values(h).every(isText);
    return status && isText(t) && headers ? (head as Head) : undefined;
  } catch {
    return undefined;
  }
}

/** Maximum number of dead tasks kept for a queue, beyond which the oldest are deleted, if it is not {@link SHARED.deadCap}. */
export interface DeadCap {
  readonly deadCap?: number;
}

/** How long ended tasks are kept, see task/result.lua. */
export interface Retention {
  readonly keepMs: number;
  readonly tombstoneMs: number;
}
