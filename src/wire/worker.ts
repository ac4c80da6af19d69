import { z } from "zod";
import { count, type Document, flag, text, time } from "./values.ts";

export const worker = z.object({
  id: text.describe("Only its last 20 characters if `kind` is `silent`."),
  kind: z
    .enum(["process", "remote", "silent"])
    .describe(
      "`process`: one of this server's; `remote`: a program that leases tasks over HTTP; `silent`: it has tasks, but has sent no heartbeat lately.",
    ),
  host: text.nullable(),
  pid: z.int().nullable(),
  role: text.nullable(),
  version: text.nullable(),
  startedAt: time.nullable(),
  lostAt: time
    .nullable()
    .describe("When it was found lost; it is listed for an hour. Null for a worker that is there."),
  seenAt: time.nullable().describe("Its last heartbeat."),
  slots: z.record(z.string(), count).describe("By queue."),
  quiet: flag.describe("It takes no more work."),
  actions: z.array(z.enum(["quiet", "resume"])).describe("What you can do with it now, with your key."),
  running: z.array(z.object({ id: text, queue: text, startedAt: time.nullable(), attempt: count })),
});
/** A worker, and what it runs. */
export type Worker = Document<typeof worker>;
