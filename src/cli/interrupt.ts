import { duration } from "../words/numbers.ts";
import { CommandError, EXIT } from "./exit.ts";

/** What a command waits for, and for how long. */
export interface Interruption {
  /** Fires with a CommandError as its reason. */
  readonly signal: AbortSignal;
  /** Stops listening for Ctrl-C and the time limit. */
  end(): void;
}

/**
 * A signal that fires at the first Ctrl-C, or when the time is up. A second Ctrl-C ends the process at once.
 * @param goOn the hint to print then: how the person can go on
 */
export function waitFor(goOn: () => string, timeoutMs?: number): Interruption {
  const controller = new AbortController();
  const stop = (code: typeof EXIT.interrupted | typeof EXIT.timeout, why: string) =>
    controller.abort(new CommandError(code, `${why}; ${goOn()}`));
  const onInterrupt = () => stop(EXIT.interrupted, "interrupted");
  process.once("SIGINT", onInterrupt);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => stop(EXIT.timeout, `not done within ${duration(timeoutMs / 1000)}`), timeoutMs);
  return {
    signal: controller.signal,
    end: () => {
      process.removeListener("SIGINT", onInterrupt);
      clearTimeout(timer);
    },
  };
}
