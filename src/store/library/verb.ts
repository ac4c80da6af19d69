import { type Argument, list, type Reply } from "./reply.ts";

/**
 * The arguments and answers of a hot verb, by name. Their order is defined only here: the Lua reads `args[ARGS.queue]`, with `local ARGS =
 * Layout.submit.args`, a table that library/assemble.ts generates from this. All other verbs are JSON: see json.ts.
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
