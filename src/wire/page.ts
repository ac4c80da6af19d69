import { z } from "zod";
import { count, type Document, text } from "./values.ts";

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
