import type { Confirmation } from "../durability.ts";
import { list } from "./reply.ts";
import type { Argument, BytesReply, Reply, Script } from "./script.ts";

/**
 * The arguments and answers of a verb, by name. Their order is defined only here: the Lua reads `args[ARGS.queue]`, with `local ARGS =
 * Layout.pause.args`, a table that library/assemble.ts generates from this.
 */
export interface Layout {
  /** The arguments of the call. */
  readonly args?: readonly string[];
  /** The arguments of each item; the items come last, after their number: `args.count`. */
  readonly item?: readonly string[];
  /** The members of a list in the answer. */
  readonly [list: string]: readonly string[] | undefined;
}

/** A value that is written as an argument: a missing one as "", and true as "1". */
type Value = Argument | boolean | null | undefined;

/** Names of the members of a T that can be written, in order. */
export type Names<T> = readonly (string & { [Name in keyof T]-?: T[Name] extends Value ? Name : never }[keyof T])[];

/** The members of a T that a verb takes. */
export const names = <T>(...of: Names<T>): Names<T> => of;

/** A verb, called through a connection. */
export interface Verb<Call> {
  (script: Script, confirmation: Confirmation): Call;
  readonly layout: Layout;
}

export function verb<Call>(layout: Layout, on: (script: Script, confirmation: Confirmation) => Call): Verb<Call> {
  return Object.assign((...through: Parameters<typeof on>) => on(...through), { layout });
}

/** The named members of a T, as arguments. */
export const written = <T>(order: Names<T>, of: T): Argument[] => order.map((name) => argumentOf(of[name] as Value));

/** The same for several, after their number. */
export const counted = <T>(order: Names<T>, items: readonly T[]): Argument[] => [
  items.length,
  ...items.flatMap((item) => written(order, item)),
];

/** Calls a verb with several items; the answer has a verdict for each. */
export async function each<Verdict extends string, T>(
  script: Script,
  tag: string,
  order: Names<T>,
  items: readonly T[],
  args: readonly Argument[] = [],
): Promise<Verdict[]> {
  return (await script.text(tag, [...args, ...counted(order, items)])) as Verdict[];
}

/** A value as an argument. */
export function argumentOf(value: Value): Argument {
  if (value === undefined || value === null || value === false) return "";
  return value === true ? "1" : value;
}

/** The members of a list, by name. */
export function named<Name extends string, R extends Reply | BytesReply>(
  order: readonly Name[],
  reply: R | undefined,
): Record<Name, R | undefined> {
  const members = list(reply);
  const of = {} as Record<Name, R | undefined>;
  order.forEach((name, n) => {
    of[name] = members[n];
  });
  return of;
}
