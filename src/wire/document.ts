/** What documents are made of: values, times, lists and their pages. */

import { z } from "zod";

/** The type of a schema, made read-only: nobody changes a document. */
export type Document<Schema extends z.ZodType> = DeepReadonly<z.infer<Schema>>;

type DeepReadonly<T> = T extends object ? { readonly [Member in keyof T]: DeepReadonly<T[Member]> } : T;

export const text = z.string();
export const flag = z.boolean();
export const count = z.int().min(0);
export const seconds = z.number().min(0);
export const time = z.string().meta({ format: "date-time", description: "RFC 3339, UTC, with milliseconds." });
/** How many tasks start before one. */
export const index = count
  .nullable()
  .describe("How many tasks of the queue start before this one; null if the task has no place in line.");

/** A page of a list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item),
    next: text.nullable(),
    scanned: count.describe("How many entries were looked at."),
  });

/** A page of items of any schema. */
export type Page<Item> = Omit<Document<ReturnType<typeof pageOf>>, "items"> & { readonly items: readonly Item[] };

/** A list without pages. */
export const listOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item) });

/** The last time that a Date can hold, ms. */
const LAST_MS = 8.64e15;

/** A time as RFC 3339 with milliseconds, UTC, as every document shows it; null stays null. An invalid time is shown as 1970. */
export function timestamp(ms: number): string;
export function timestamp(ms: number | null): string | null;
export function timestamp(ms: number | null): string | null {
  return ms === null ? null : new Date(Math.abs(ms) <= LAST_MS ? ms : 0).toISOString();
}

/** How a time is written, for error messages. */
export const RFC3339_EXPECTED = "an RFC 3339 time such as 2030-01-31T12:00:00Z";

const RFC3339 =
  /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** An RFC 3339 time in ms; undefined if it is invalid, such as 30 February, which Date.parse reads as March. */
export function msOf(given: string): number | undefined {
  // An unescaped "+" in the offset is decoded as a space.
  const time = given.replace(" ", "+");
  const [, year, month, day] = RFC3339.exec(time) ?? [];
  if (day === undefined || Number(day) < 1) return undefined;
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) > daysOfMonth ? undefined : Math.max(0, Date.parse(time.toUpperCase()));
}
