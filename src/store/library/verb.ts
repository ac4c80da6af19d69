/** The parts of a script's reply; its strings are Buffers if bytes were requested. */
export type Reply = string | Buffer | number | null | Reply[];
export type Argument = string | number | Buffer;

/**
 * The arguments and answers of a hot verb, by name. Their order is defined only here: the Lua reads `args[ARGS.queue]`, with `local ARGS =
 * Layout.submit.args`, a table that library/assemble.ts generates from this. All other verbs are JSON: see {@link jsonVerb}.
 */
export interface Layout {
  /** The arguments of the call. */
  readonly args?: readonly string[];
  /** The arguments of each item; the items come last, after their number: `args.count`. */
  readonly item?: readonly string[];
  /** The members of a list in the answer. */
  readonly [list: string]: readonly string[] | undefined;
}

/** All that TypeScript knows of a verb: the rest is in the Lua file beside it. */
export interface Verb<Asked extends readonly unknown[], Answer> {
  /** Of a hot verb. */
  readonly layout?: Layout;
  /** The arguments of a call. */
  write(...asked: Asked): readonly Argument[];
  /** @param durable whether the writes have the configured durability; asked only for a verb that is `confirmed` */
  read(reply: Reply, durable: boolean): Answer;
  /**
   * Members that engine/calls fills in: `call`, a word by which a repeated call is recognized, and how the queue ends its tasks. Default:
   * none.
   */
  readonly filled?: readonly FilledMember[];
  /** Whether the strings of the reply are bytes, and not UTF-8. Default: no. */
  readonly bytes?: boolean;
  /** Whether the durability of its writes is confirmed. Default: no. */
  readonly confirmed?: boolean;
  /** How long it is retried while a cluster is changing, ms; by default as long as a command may take. */
  readonly patienceMs?: number;
  /** Whether a call writes nothing, and so also works on a server that takes no writes. Default: no. */
  isReading?(...asked: Asked): boolean;
}

/** A member of {@link Verb.filled}. */
export type FilledMember = "call" | "maxLost" | "keepMs" | "tombstoneMs" | "deadMs" | "problem";

/** Maximum number of items in a call of a script, so that no call blocks Redis for long. */
export const BATCH_LIMIT = 100;

/** What an item weighs in a call: larger calls are split, see engine/calls/batch.ts. */
export interface Weights<Item> {
  /** Size of an item in a call, bytes; default 0. */
  sizeOf?(item: Item): number;
  /** The work of an item for the script, as a multiple of a usual item; default 1. */
  workOf?(item: Item): number;
  /** The queue of an item, if each further queue makes a call longer. Default: no limit on queues. */
  queueOf?(item: Item): string;
}

/** A verb on any number of items: the calls of one turn of the event loop travel together. */
export interface BatchVerb<Item, Verdict, More extends readonly unknown[] = []>
  extends Verb<[items: readonly Item[], ...more: More], readonly Verdict[]> {
  readonly weights: Weights<Item>;
  /** Whether its verdicts are the ends of attempts, which are counted. Default: no. */
  readonly ends?: boolean;
}

/** What comes with the answer of a verb. */
interface Beside {
  /** What goes beside it as it is, since it may be long or not text. */
  readonly beside: Reply | undefined;
  /** See {@link Verb.read}. */
  readonly durable: boolean;
}

interface JsonOptions<Answer> extends Pick<Verb<never, unknown>, "patienceMs" | "confirmed" | "filled"> {
  /** The member, of what is asked or of each item, that is sent as it is, since it may be long or not text. */
  readonly raw?: string;
  /** Makes the answer of what the Lua returns, if it differs: see {@link decoded}. */
  readonly read?: (said: never, more: Beside) => Answer;
}

/** A verb that takes one JSON argument and gives one JSON answer; in Lua: `register`, see library/assemble.ts. */
export function jsonVerb<Of extends object, Answer>({
  read,
  raw,
  sent = (of) => of,
  ...more
}: JsonOptions<Answer> & {
  readonly isReading?: (of: Of) => boolean;
  /** What is sent, if that is not what is asked. */
  readonly sent?: (of: Of) => object;
} = {}): Verb<[of: Of], Answer> {
  const write = (of: Of): Argument[] => {
    const asked = sent(of);
    return [encoded({ ...without(asked, raw), raw }), ...taken([asked], raw)];
  };
  return { ...more, bytes: true, write, read: reader(read) };
}

/** The same on several items, which the Lua gets as `items`. */
export function jsonVerbOnEach<Item extends object, Verdict, More extends object = object>(
  weights: Weights<Item> = {},
  { read, raw, ...more }: JsonOptions<readonly Verdict[]> & Pick<BatchVerb<Item, Verdict>, "ends"> = {},
): BatchVerb<Item, Verdict, [more?: More]> {
  const write = (items: readonly Item[], beside?: More): Argument[] => [
    encoded({ ...beside, items: items.map((item) => without(item, raw)), raw }),
    ...taken(items, raw),
  ];
  return { ...more, weights, bytes: true, write, read: reader(read) };
}

const without = (of: object, raw: string | undefined): object => (raw === undefined ? of : { ...of, [raw]: undefined });

const taken = (items: readonly object[], raw: string | undefined): Argument[] =>
  raw === undefined ? [] : items.map((item) => item[raw as keyof typeof item] as Argument);

function reader<Answer>(read: JsonOptions<Answer>["read"] = (said) => said): Verb<never, Answer>["read"] {
  return (reply, durable) => {
    const [answer, beside] = Array.isArray(reply) ? reply : [reply];
    return read(decoded(text(answer)) as never, { beside, durable });
  };
}

/** Members that are null are left out, and half characters, which Lua's decoder refuses, are replaced, as they would be in UTF-8. */
function encoded(asked: object): string {
  return JSON.stringify(asked, (_name, of: unknown) =>
    typeof of === "string" ? of.toWellFormed() : (of ?? undefined),
  );
}

/** Lua writes an empty list as an empty object. No object in an answer is empty, so each such is a list. */
function decoded(json: string): unknown {
  return json.includes("{}") ? JSON.parse(json, (_name, of: unknown) => (isEmpty(of) ? [] : of)) : JSON.parse(json);
}

const isEmpty = (of: unknown): boolean => typeof of === "object" && of !== null && Object.keys(of).length === 0;

/** A value that is written as an argument: a missing one as "", and true as "1". */
type Value = Argument | boolean | null | undefined;

/** Names of the members of a T that can be written, in order. */
export type Names<T> = readonly (string & { [Name in keyof T]-?: T[Name] extends Value ? Name : never }[keyof T])[];

/** The members of a T that a verb takes. */
export const names = <T>(...of: Names<T>): Names<T> => of;

/** Infers the types of a verb. */
export const verb = <Asked extends readonly unknown[], Answer>(of: Verb<Asked, Answer>): Verb<Asked, Answer> => of;

/** The named members of a T, as arguments. */
export const written = <T>(order: Names<T>, of: T): Argument[] => order.map((name) => argumentOf(of[name] as Value));

/** The same for several, after their number. */
export const counted = <T>(order: Names<T>, items: readonly T[]): Argument[] => [
  items.length,
  ...items.flatMap((item) => written(order, item)),
];

/** A value as an argument. */
export function argumentOf(value: Value): Argument {
  if (value === undefined || value === null || value === false) return "";
  return value === true ? "1" : value;
}

/** The members of a list, by name. */
export function named<Name extends string>(
  order: readonly Name[],
  reply: Reply | undefined,
): Record<Name, Reply | undefined> {
  const members = list(reply);
  const of = {} as Record<Name, Reply | undefined>;
  order.forEach((name, n) => {
    of[name] = members[n];
  });
  return of;
}

/**
 * Items as arguments of a hot script, after the number of their groups. Each argument and each element of a reply costs the client more
 * than Redis, so what consecutive items share is sent once, with their number.
 */
export function grouped<T>(items: readonly T[], head: Names<T>, own: Names<T>): Argument[] {
  const args: Argument[] = [0];
  let groups = 0;
  let length = 0;
  let first: T | undefined;
  for (const one of items) {
    if (first === undefined || !haveSame(head, first, one)) {
      groups += 1;
      first = one;
      for (const name of head) args.push((one[name] ?? "") as Argument);
      length = args.push(0) - 1;
    }
    args[length] = Number(args[length]) + 1;
    for (const name of own) args.push((one[name] ?? "") as Argument);
  }
  args[0] = groups;
  return args;
}

function haveSame<T>(names: Names<T>, a: T, b: T): boolean {
  for (const name of names) if (a[name] !== b[name]) return false;
  return true;
}

/** A bulk string; "" if absent. */
export const text = (reply: Reply | undefined): string =>
  reply === null || reply === undefined ? "" : reply.toString();

/** A number that is always present. */
export const number = (reply: Reply | undefined): number => Number(text(reply));

/** A number; null for "". */
export const optional = (reply: Reply | undefined): number | null => (text(reply) === "" ? null : number(reply));

/** The members of an array. */
export const list = (reply: Reply | undefined): Reply[] => (Array.isArray(reply) ? reply : []);
