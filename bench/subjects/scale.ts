/** An engine with a very full store, called by the benchmark: `scale URL QUEUES`. */

import { randomUUID } from "node:crypto";
import { submissionOf } from "../../test/shared/submission.ts";
import { openBuiltEngine } from "../harness/built.ts";
import { benchId, bodyOf } from "../harness/load.ts";
import { serve } from "../harness/rpc.ts";

const [url = "", queues = "1"] = process.argv.slice(2);
const names = Array.from({ length: Number(queues) }, (_, n) => `q${n}`);
const { engine } = await openBuiltEngine(
  url,
  "ph",
  names.map((queue) => ({ queue, concurrency: 1, run: () => undefined })),
);
const input = bodyOf(56);
const CHUNK = 1000;
/** Tasks that one reservation takes. */
const TAKEN = 50;
const result = { status: 200, contentType: "application/json", headers: {}, body: Buffer.from('{"ok":true}') };

function submit(id: string, queue: string): Promise<unknown> {
  return engine.tasks.submit(submissionOf(id, queue, input), engine.queues.settings(queue));
}

async function take(queue: string): Promise<number> {
  const request = { queue, worker: "bench", reservation: randomUUID(), count: TAKEN, leaseMs: 60_000, rate: undefined };
  const { tasks } = await engine.leases.reserve(0, request);
  const settings = engine.queues.settings(queue);
  await Promise.all(tasks.map(({ id, fence }) => engine.leases.complete({ queue, id, fence }, result, settings)));
  return tasks.length;
}

/** Does something many times in chunks, as a busy process would. */
async function repeat(count: number, chunk: number, work: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < count; n += chunk) {
    await Promise.all(Array.from({ length: Math.min(chunk, count - n) }, (_, k) => work(n + k)));
  }
}

const calls = {
  /** Half of the tasks are in the first line, the others in all lines in turn. */
  async fill({ waiting, finished }: { waiting: number; finished: number }): Promise<void> {
    await repeat(finished, CHUNK, (n) => submit(`done-${n}`, "q0"));
    for (let done = 0; done < finished; ) done += await take("q0");
    await repeat(waiting, CHUNK, (n) => submit(benchId(n), n % 2 === 0 ? "q0" : (names[n % names.length] ?? "q0")));
  },
  /** Does one kind of work `count` times at the current size of the store. */
  async work({ kind, count, known }: { kind: WorkKind; count: number; known: number }): Promise<number> {
    const began = performance.now();
    if (kind === "inspect") {
      await repeat(count, 50, () =>
        engine.tasks.inspect(benchId(Math.floor(Math.random() * known)), { result: false }),
      );
    } else if (kind === "submit") await repeat(count, 50, () => submit(randomUUID(), "q0"));
    else if (kind === "take") for (let done = 0; done < count; ) done += await take("q0");
    else if (kind === "tick") await repeat(count, 1, () => engine.maintenance.tick(0));
    else await repeat(count, 1, () => engine.queues.figures(names));
    return performance.now() - began;
  },
};
export type WorkKind = "inspect" | "submit" | "take" | "tick" | "figures";
export type ScaleCalls = typeof calls;
serve(calls);
