import { z } from "zod";
import { count, text } from "./values.ts";

/** A page of a list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item),
    next: text.nullable(),
    scanned: count.describe("How many entries were looked at."),
  });

/** A list without pages. */
export const listOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item) });
