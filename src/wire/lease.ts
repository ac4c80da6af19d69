import { z } from "zod";
import { link } from "./task.ts";
import { type Document, flag, seconds, text, time } from "./values.ts";

export const lease = z.object({
  id: text,
  queue: text,
  fence: z.int().min(1),
  attempt: z.int().min(1),
  maxAttempts: z.int().min(1),
  leaseSeconds: seconds,
  mediaType: text,
  input: z.unknown().exactOptional().describe("The input, if it is JSON."),
  body: text.exactOptional().meta({
    contentEncoding: "base64",
    description: "The input in base64, if it has another media type.",
  }),
  query: z.record(z.string(), text),
  caller: text.nullable(),
  submittedAt: time,
  traceparent: text.nullable().describe("The trace of the submitter (W3C Trace Context), to be continued."),
  tracestate: text.nullable(),
  links: z.array(link),
});
/** A leased task, for a worker over HTTP. */
export type Lease = Document<typeof lease>;

export const renewal = z.object({
  id: text,
  cancelRequested: flag,
  reason: z
    .enum(["canceled", "deadline", "abandoned"])
    .nullable()
    .describe("Why the worker is asked to stop; null if it is not."),
  leaseSeconds: z.number(),
});
export type Renewal = Document<typeof renewal>;

export const completion = z.object({ id: text, verdict: z.enum(["done", "canceled", "already"]) });

export const failure = z.object({
  id: text,
  verdict: z.enum(["retrying", "failed", "dead", "canceled", "already"]),
});
