import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

/** The time of `setTimeout` and `performance.now`, which passes when a test says so. */
export interface FakeTime {
  /** Lets so many milliseconds pass, in steps, with what they set off. */
  pass(ms: number): Promise<void>;
  /** Ends it: time passes by itself again. */
  end(): void;
}

/** How long a step is at most, ms: a tenth of the shortest interval. */
const STEP_MS = 25;

export function fakeTime(): FakeTime {
  let nowMs = performance.now();
  mock.timers.enable({ apis: ["setTimeout"] });
  const now = mock.method(performance, "now", () => nowMs);
  return {
    async pass(ms) {
      for (let left = ms; left > 0; left -= STEP_MS) {
        const step = Math.min(left, STEP_MS);
        nowMs += step;
        mock.timers.tick(step);
        await turn();
      }
    },
    end() {
      mock.timers.reset();
      now.mock.restore();
    },
  };
}
