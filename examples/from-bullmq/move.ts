/**
 * Moves the jobs of a BullMQ queue to a queue of Paihao: `npx tsx examples/from-bullmq/move.ts OLD NEW`, with REDIS_URL (that of BullMQ),
 * PAIHAO_URL and PAIHAO_KEY. Pauses the old queue, so that no worker takes what is being moved. It may be interrupted and run again.
 */
import { pathToFileURL } from "node:url";
import { type Job, Queue } from "bullmq";
import { PaihaoClient, type SubmitOptions } from "paihao/client";

/** How many jobs are read at a time. */
const PAGE = 100;
/** Redis scores of delayed jobs: the time in ms, times this, plus a counter. */
const DELAYED_SCALE = 0x1000;

/** What has become of the jobs. */
export interface Moved {
  readonly moved: number;
  /** Jobs that a scheduler has made: they stay. */
  readonly left: readonly string[];
}

/**
 * The id of a job's task: BullMQ counts ids in each queue and allows any character, Paihao has one space of ids. Producers that move over
 * call this too, so that a job that is added twice stays one task.
 */
export function taskId(queue: string, jobId: string): string {
  const part = (text: string) => text.replace(/[^A-Za-z0-9_-]/gu, (char) => `~${char.codePointAt(0)?.toString(16)}~`);
  return `bullmq.${part(queue)}.${part(jobId)}`;
}

/** Jobs without a priority go first in BullMQ, then 1, 2, 3 … 2,097,151: as many of Paihao's classes as are below the usual one. */
export function classOf(priority = 0): number {
  return priority === 0 ? 3 : Math.min(7, 4 + Math.floor(Math.log10(priority)));
}

/** Moves all jobs that wait or are delayed. @throws if one is refused, or is being run; those before it have moved */
export async function move(from: Queue, client: PaihaoClient, to: string): Promise<Moved> {
  await from.pause();
  const left: string[] = [];
  let moved = 0;
  for (const state of ["waiting", "prioritized", "delayed"] as const) {
    for (let stay = 0; ; ) {
      const jobs = await from.getJobs([state], stay, stay + PAGE - 1, true);
      if (jobs.length === 0) break;
      for (const job of jobs) {
        if (job.id === undefined || job.repeatJobKey !== undefined) {
          left.push(String(job.id));
          stay += 1;
          continue;
        }
        // Submitted before it is removed: if this program ends between the two, the job is submitted again under the same id.
        await client.submit(to, job.data, await optionsOf(from, job, job.id));
        await job.remove();
        moved += 1;
      }
    }
  }
  return { moved, left };
}

/** The delay of a job is that of its first attempt: when it is due now says its score. */
async function optionsOf(from: Queue, { name, opts }: Pick<Job, "name" | "opts">, id: string): Promise<SubmitOptions> {
  const backend = from.getBackend();
  const score = await (await backend.client).zscore(backend.toKey("delayed"), id);
  const dueMs = Math.floor(Number(score ?? 0) / DELAYED_SCALE);
  return {
    id: taskId(from.name, id),
    priority: classOf(opts.priority),
    query: { name },
    ...(dueMs > Date.now() && { delay: new Date(dueMs) }),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [, , old, to = old] = process.argv;
  if (!old || !to) throw new Error("usage: npx tsx move.ts OLD-QUEUE [NEW-QUEUE]");
  const { REDIS_URL: url = "redis://127.0.0.1:6379", PAIHAO_URL, PAIHAO_KEY } = process.env;
  const from = new Queue(old, { connection: { url } });
  try {
    const { moved, left } = await move(from, new PaihaoClient({ url: PAIHAO_URL, key: PAIHAO_KEY }), to);
    console.log(`${moved} moved to ${to}; ${left.length} stay: ${left.join(", ") || "none"}`);
    console.log(`still running in BullMQ: ${(await from.getJobCounts("active")).active}`);
  } finally {
    await from.close();
  }
}
