import { z } from "zod";
import { durationWithin, LONGEST_MS, parseDuration } from "../config/duration.ts";
import { MAX_CONCURRENCY, MAX_RATE } from "../handler/options.ts";

const members = {
  concurrency: z
    .int()
    .min(1)
    .max(MAX_CONCURRENCY)
    .nullable()
    .exactOptional()
    .describe("How many tasks each worker process runs at a time; null: as the handler declares it."),
  rate: z
    .strictObject({
      max: z.int().min(1).max(MAX_RATE),
      per: z
        .string()
        .refine((text) => (parseDuration(text) ?? 0) >= 1 && (parseDuration(text) ?? 0) <= LONGEST_MS, {
          error: `expected ${durationWithin(1, LONGEST_MS)}`,
        })
        .describe('Such as "1s", "30s" or "1m".'),
    })
    .nullable()
    .exactOptional()
    .describe("How many tasks may start in what time, over all workers; null: as the handler declares it."),
};

/** What an operator changes of a queue while it runs. */
export const adjustBody = z
  .strictObject(members)
  .refine((given) => Object.keys(given).length > 0, { error: `expected ${Object.keys(members).join(" or ")}` })
  .meta({ minProperties: 1 });
export type AdjustBody = z.infer<typeof adjustBody>;

/** Whether a worker takes no more work. */
export const quietBody = z.strictObject({ quiet: z.boolean().default(true) });
