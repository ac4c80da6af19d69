import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

/** The time of `setTimeout` and `performance.now`, which passes when a test says so. */
export interface FakeTime {
  /** Lets so many milliseconds pass, in steps, with what they set off. */
  pass(ms: number): Promise<void>;
  /** Lets time pass while the process stands still, so that no timer fires. */
  jump(ms: number): void;
  /** Lets time pass until a promise has settled, at most a minute. */
  settle<T>(promise: Promise<T>): Promise<T>;
  /** Ends it: time passes by itself again. */
  end(): void;
}

/** How long a step is at most, ms: a tenth of the shortest interval. */
const STEP_MS = 25;

export function fakeTime(): FakeTime {
  let nowMs = performance.now();
  mock.timers.enable({ apis: ["setTimeout"] });
  const now = mock.method(performance, "now", () => nowMs);
  const step = async (ms: number) => {
    nowMs += ms;
    mock.timers.tick(ms);
    await turn();
  };
  return {
    async pass(ms) {
      for (let left = ms; left > 0; left -= STEP_MS) await step(Math.min(left, STEP_MS));
    },
    jump(ms) {
      nowMs += ms;
    },
    async settle(promise) {
      let settled = false;
      const note = () => {
        settled = true;
      };
      promise.then(note, note);
      await turn();
      for (let ms = 0; ms < 60_000 && !settled; ms += STEP_MS) await step(STEP_MS);
      return promise;
    },
    end() {
      mock.timers.reset();
      now.mock.restore();
    },
  };
}
