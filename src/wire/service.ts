import { z } from "zod";
import { SCOPES } from "../auth/api-key.ts";
import { type Document, flag, text } from "./values.ts";

/** What the caller may do. */
export const access = z.object({
  caller: text.nullable().describe("The name of the key."),
  keys: flag.describe("Whether the server has keys."),
  scopes: z.array(z.enum(SCOPES)),
});
export type Access = Document<typeof access>;

export const alive = z.object({ status: z.literal("ok") });
export const ready = z.object({
  status: z
    .enum(["ready", "degraded"])
    .describe(
      "`degraded`: the store is full, so that submissions are refused, while stored tasks run and can be collected.",
    ),
  reasons: z.array(text).max(1),
});
export const notReady = z.object({ status: z.literal("not ready"), reasons: z.array(text) });
