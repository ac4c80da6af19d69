import type { Engine } from "../engine/engine.ts";
import { messageOf } from "../errors.ts";
import type { TargetState } from "../handler/gateway/target-state.ts";
import type { Attempt } from "./attempt/attempt.ts";

/**
 * Reports what an attempt of a gateway has shown about its target, if anything. Returns whether the task goes back to its place without
 * using up an attempt: the target is down, the queue rests, and the request may be sent again. Idempotent.
 * @throws PaihaoError store-unavailable
 */
export async function reportTarget(
  { rests }: Pick<Engine, "rests">,
  { lease, log }: Attempt,
  target: TargetState | undefined,
): Promise<boolean> {
  if (target === undefined || target.state === "up") {
    // A result is stored even if this fails: without the report, there is another probe.
    const verdict = await rests.note(lease, target).catch((error: unknown) => {
      log.warn({ reason: messageOf(error) }, "runner: could not report that the API behind the gateway is up");
      return "open" as const;
    });
    if (verdict === "ended") log.info("the API behind the gateway is up again; its queue resumes");
    return false;
  }
  const verdict = await rests.note(lease, target);
  if (verdict === "began") log.warn({ reason: target.reason }, "the API behind the gateway is down; its queue rests");
  return verdict !== "open" && target.repeatable;
}
