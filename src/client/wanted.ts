import type { Connection } from "./connection.ts";
import { CANCEL_MS, FAREWELL_MS, LATE_MS, MAX_TRIES } from "./figures.ts";
import { pathTo, targetOf } from "./follow.ts";
import { type Accepted, hasEnded, versionOf } from "./status.ts";
import { newId, type SubmitOptions, submit } from "./submission.ts";
import { type Limit, rejection, sleep } from "./time.ts";

/** For how long a task is wanted. */
export interface WantedOptions extends SubmitOptions {
  /** Fires when it is no longer wanted. */
  readonly limit: Limit;
  /** Whether it goes on then. */
  readonly detach?: boolean;
}

/**
 * Submits a task and uses it. If the limit fires meanwhile, this rejects at once, and cancels the task if it has not ended.
 * @throws PaihaoError; the limit's reason; what `use` throws
 */
export async function whileWanted<T>(
  connection: Connection,
  queue: string,
  input: unknown,
  options: WantedOptions,
  use: (task: Accepted) => Promise<T>,
): Promise<T> {
  const { limit, detach, id = newId() } = options;
  const { signal } = limit;
  const sending = new AbortController();
  try {
    signal.throwIfAborted();
    const submitting = submit(connection, queue, input, { ...options, signal: sending.signal }, id);
    try {
      return await use(await Promise.race([submitting, rejection(signal)]));
    } catch (error) {
      if (signal.aborted && !detach) {
        const abandoned = abandon(connection, submitting, id).then(() => sending.abort());
        await Promise.race([abandoned, sleep(CANCEL_MS)]);
      }
      throw error;
    }
  } finally {
    limit.release();
  }
}

/**
 * Cancels a task whose submission may still be under way. A DELETE would delete the result of a task that has ended, so it
 * names the version of the pending one. Never throws.
 */
async function abandon(connection: Connection, submitting: Promise<Accepted>, id: string): Promise<void> {
  const signal = AbortSignal.timeout(FAREWELL_MS);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      const accepted = await Promise.race([submitting, sleep(tries && LATE_MS)]).catch(() => undefined);
      const task = targetOf(connection, accepted?.id ?? id);
      const [status, tag] = await connection.send(pathTo(task, "/status"), { signal }, versionOf);
      if (status && !hasEnded(status)) {
        const headers: Record<string, string> = tag ? { "If-Match": tag } : {};
        await connection.send(task.path, { method: "DELETE", signal, headers }, (response) => response.text());
      }
      return;
    } catch {
      // It has not been accepted yet, or has a newer version.
    }
  }
}
