import type { Engine } from "../engine/engine.ts";
import { messageOf } from "../errors.ts";
import type { TargetState } from "../handler/target-state.ts";
import type { Attempt } from "./attempt/attempt.ts";

/**
 * Reports what an attempt of a gateway has shown about its target, if anything. Returns whether the task goes back to its place without
 * using up an attempt: the target is down, the circuit breaker is open, and the request may be sent again. Idempotent.
 * @throws ProblemError store-unavailable
 */
export async function reportToBreaker(
  { breakers }: Pick<Engine, "breakers">,
  { lease, log }: Attempt,
  target: TargetState | undefined,
): Promise<boolean> {
  if (target === undefined || target.state === "up") {
    // A result is stored even if this fails: without the report, there is another probe.
    const verdict = await breakers.note(lease, target).catch((error: unknown) => {
      log.warn({ reason: messageOf(error) }, "runner: could not report that the API behind the gateway is up");
      return "closed" as const;
    });
    if (verdict === "recovered") log.info("the API behind the gateway is up again; its circuit breaker is closed");
    return false;
  }
  const verdict = await breakers.note(lease, target);
  if (verdict === "opened")
    log.warn({ reason: target.reason }, "the API behind the gateway is down; its circuit breaker is open");
  return verdict !== "closed" && target.repeatable;
}
