import type { Confirmation } from "../durability.ts";
import { list } from "./reply.ts";
import type { Argument, BytesReply, Reply, Script } from "./script.ts";

/**
 * What a verb takes and answers, by name. The order is written here alone: its Lua reads `args[ARGS.queue]`, with
 * `local ARGS = Layout.pause.args`, of a table that library/assemble.ts makes of this.
 */
export interface Layout {
  /** The arguments of the call. */
  readonly args?: readonly string[];
  /** Those of each of its items, which come last, behind their number: `args.count`. */
  readonly item?: readonly string[];
  /** The members of a list in the answer. */
  readonly [list: string]: readonly string[] | undefined;
}

/** Something to be written as an argument: what is not there as "", and true as "1". */
type Value = Argument | boolean | null | undefined;

/** Names of what can be written of a T, in their order. */
export type Names<T> = readonly (string & { [Name in keyof T]-?: T[Name] extends Value ? Name : never }[keyof T])[];

/** The names of what a verb takes of a T. */
export const names = <T>(...of: Names<T>): Names<T> => of;

/** A verb as it is called through a connection. */
export interface Verb<Call> {
  (script: Script, confirmation: Confirmation): Call;
  readonly layout: Layout;
}

export function verb<Call>(layout: Layout, on: (script: Script, confirmation: Confirmation) => Call): Verb<Call> {
  return Object.assign((...through: Parameters<typeof on>) => on(...through), { layout });
}

/** What is named of a T, as arguments. */
export const written = <T>(order: Names<T>, of: T): Argument[] => order.map((name) => argumentOf(of[name] as Value));

/** The same of several, behind their number. */
export const counted = <T>(order: Names<T>, items: readonly T[]): Argument[] => [
  items.length,
  ...items.flatMap((item) => written(order, item)),
];

/** Calls a verb with several items, which answers a verdict of each. */
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

/** The members of a list by their names. */
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
