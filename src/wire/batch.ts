import { z } from "zod";
import { problem } from "./problem.ts";
import { LINE_MEMBERS } from "./submit-options.ts";
import { id } from "./task.ts";
import { count, type Document, index, text } from "./values.ts";

const acceptedLine = z.object({
  line: count,
  id,
  href: text,
  index,
  replayed: z.literal(true).exactOptional(),
  group: id
    .nullable()
    .exactOptional()
    .describe("In a batch of a group, the group of a task that is repeated, perhaps another one; null for none."),
});
/** The verdict on an accepted line of a batch. */
export type AcceptedLine = Document<typeof acceptedLine>;

/** A line of the response to a batch. */
export const verdict = z
  .xor([acceptedLine, z.object({ line: count, problem })])
  .describe("One line of the response to a batch: the task was accepted, or the problem of that line.");

/** A line of a batch with `?envelope=true`. */
export const envelope = z.strictObject({
  id: id.optional(),
  input: z.unknown(),
  ...Object.fromEntries(
    Object.entries(LINE_MEMBERS).map(([name, schema]) => [name, z.unknown().meta(schema).optional()]),
  ),
});
