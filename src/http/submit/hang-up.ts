import type { Submission } from "../../engine/tasks/submission.ts";
import { reasonOf } from "../../errors.ts";
import type { Api } from "../api.ts";

/**
 * Cancels the task of a caller that has hung up, unless someone else waits for it or has watched it: here, or at another process, which its
 * record names. Never rejects.
 */
export async function cancelUnlessAwaited(
  { engine, log }: Pick<Api, "engine" | "log">,
  { id, queue }: Pick<Submission, "id" | "queue">,
): Promise<void> {
  if (engine.notices.has(id)) return;
  try {
    const verdict = await engine.call("cancel", { id, queue, only: "pending", heardBy: engine.notices.process });
    if (verdict !== "left") log.info({ queue, verdict }, "the caller has hung up: its task is canceled");
  } catch (error) {
    const reason = reasonOf(error);
    log.warn({ queue, reason }, "the caller has hung up, but its task could not be canceled; it goes on");
  }
}
