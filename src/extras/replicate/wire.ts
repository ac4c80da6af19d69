import { z } from "zod";
import { type Document, flag, seconds, text, time } from "../../wire/values.ts";

/** A prediction of Replicate's HTTP API, which describes it. */
export const prediction = z.object({
  id: text,
  model: text,
  version: text,
  input: z.unknown(),
  status: z.enum(["starting", "processing", "succeeded", "failed", "canceled"]),
  output: z.unknown(),
  error: text.nullable(),
  logs: text,
  data_removed: flag,
  created_at: time,
  started_at: time.nullable(),
  completed_at: time.nullable(),
  metrics: z.object({ predict_time: seconds.exactOptional() }),
  urls: z.object({ get: text, cancel: text }),
});
export type Prediction = Document<typeof prediction>;
