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
