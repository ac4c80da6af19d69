import { z } from "zod";
import { STATES } from "../../task.ts";
import { eta, id } from "../../wire/task.ts";
import { type Document, text } from "../../wire/values.ts";

export const allocation = z.object({ id });

/** A task as the server-allocated dialect shows it. */
export const allocatedTask = z.object({
  id,
  status: z.enum(["allocated", ...STATES]),
  progress: z.int().min(0).max(100),
  eta: eta.nullable(),
});
export type AllocatedTask = Document<typeof allocatedTask>;

export const allocatedResult = allocatedTask.extend({
  result: z.unknown().exactOptional().describe("What the handler returned; null if it is not JSON."),
  contentType: text.nullable().exactOptional().describe("Media type of a result that is not JSON."),
  href: text.exactOptional().describe("URL of a result that is not JSON."),
});
