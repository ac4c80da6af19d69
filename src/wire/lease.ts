import { z } from "zod";
import { durationWithin, parseDuration } from "../config/duration.ts";
import { isContentType } from "../handler/result-headers.ts";
import { LONGEST_DELAY_S } from "../task.ts";
import { type Document, flag, seconds, text, time } from "./document.ts";
import { link } from "./task.ts";

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

// Members that callers may choose freely are `unknown`: they were parsed from JSON, and z.json() would copy them.

/** A fence as leases carry it: a number up to 2^53, or its digits. */
const fence = z.union([z.int().min(1), z.string().regex(/^\d{1,16}$/)]).transform(String);

/** The leases of the tasks that are there run meanwhile. */
const LONGEST_FILL_MS = 60_000;

/** A request for leases. */
export const takeBody = z.strictObject({
  /** The name of the worker, the same in all its requests. */
  worker: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,128}$/)
    .optional(),
  /** The maximum number of tasks to lease. */
  count: z.int().min(1).max(100).default(1),
  /** Length of the lease, seconds; default: that of the queue. */
  lease: z.number().min(1).max(86_400).optional(),
  /** How long to wait for more tasks, up to `count`, once there is one: a duration, such as "50ms". */
  fill: z
    .string()
    .max(20)
    .refine((text) => (parseDuration(text) ?? LONGEST_FILL_MS + 1) <= LONGEST_FILL_MS, {
      error: `expected ${durationWithin(0, LONGEST_FILL_MS)}`,
    })
    .optional(),
});

/** Renews a lease, by its original length or the given number of seconds. */
export const renewBody = z.strictObject({ fence, lease: z.number().min(1).max(86_400).optional() });

export const progressBody = z.strictObject({
  fence,
  percent: z.number().min(0).max(100),
  message: z.string().max(200).default(""),
});

/** Values that the handler writes, in order. */
export const outputBody = z.strictObject({ fence, data: z.array(z.unknown()).min(1).max(1000) });

/** The result: JSON, or bytes in base64 with their content type. */
export const completeBody = z
  .strictObject({
    fence,
    result: z.unknown().optional(),
    body: z.base64().optional(),
    status: z.int().min(200).max(599).optional(),
    contentType: z
      .string()
      .max(200)
      .refine(isContentType, { error: "expected a media type such as text/html; charset=utf-8" })
      .optional(),
  })
  .refine(({ result, body }) => result === undefined || body === undefined, {
    error: "give result (JSON) or body (base64), not both",
    path: ["body"],
  });

/**
 * An unsuccessful attempt: retried by default; `giveUp` ends the task with this problem; `after` does not count the attempt.
 */
export const failBody = z.strictObject({
  fence,
  error: z.string().max(2000).default("the worker reported a failure"),
  /** Members of RFC 9457, whose types other documents rely on, and any extension. */
  giveUp: z
    .looseObject({
      type: z.string().max(2000).optional(),
      title: z.string().max(2000).optional(),
      detail: z.string().optional(),
      instance: z.string().max(2000).optional(),
      status: z.int().min(400).max(599).optional(),
    })
    .optional(),
  /** Run the task again after this many seconds, without counting the attempt. */
  after: z.number().min(0).max(LONGEST_DELAY_S).optional(),
  /** The attempt took longer than it may, this many seconds: if it is the last one, the task fails with `task-timeout`. */
  timeout: z.number().gt(0).max(LONGEST_DELAY_S).optional(),
});
