import type { Bench, Figure } from "./harness/bench.ts";
import { perSecond } from "./harness/judge.ts";
import { startCallable } from "./harness/rpc.ts";
import { openStore } from "./harness/store.ts";
import { median } from "./harness/turns.ts";
import type { BatchCalls } from "./subjects/batches.ts";

/** How long each call takes, whatever the number of its tasks, ms. */
const CALL_MS = 20;
const BATCH = { max: 32, wait: "50ms" };
const SLOTS = [1, 4] as const;
/** Mean time of a call where estimates are taken, ms. */
const MEAN_MS = 80;
/** Redis reports times in whole milliseconds. */
const TOLERANCE_S = 0.001;

/** A handler that takes many tasks in one call: its tasks per second, and whether estimates count its calls. */
export const batch: Bench = {
  name: "batch",
  title: `A handler of ${CALL_MS} ms a call that takes ${BATCH.max} tasks: tasks a second, and its estimates`,
  async run(options) {
    const store = await openStore("no persistence");
    const subject = startCallable<BatchCalls>("batches", [store.url]);
    const figures: Figure[] = [];
    const common = { store: "–", theirs: "" } as const;
    try {
      for (const slots of SLOTS) {
        options.say(`${slots} slots`);
        const rates: number[] = [];
        for (let n = 0; n < options.pairs; n += 1) {
          const tasks = BATCH.max * slots * (options.quick ? 40 : 100);
          const scenario = { prefix: `rate${slots}-${n}`, slots, batch: BATCH };
          rates.push(await subject.call("work", { ...scenario, tasks, callMs: CALL_MS }));
        }
        const bound = (BATCH.max * slots * 1000) / CALL_MS;
        figures.push({
          ...{ ...common, figure: `tasks a second, ${slots} slots`, against: `max × slots / ${CALL_MS} ms` },
          ...{ ours: perSecond(median(rates)), theirs: perSecond(bound) },
          ...{ value: median(rates) / bound, unit: "×", target: { atLeast: 0.9 } },
        });
        const waves = options.quick ? 40 : 200;
        const told = await subject.call("told", {
          prefix: `told${slots}`,
          slots,
          batch: BATCH,
          waves,
          meanMs: MEAN_MS,
        });
        const within = told.filter(
          ({ low, high, waited }) => waited >= low - TOLERANCE_S && waited <= high + TOLERANCE_S,
        );
        const covered = (100 * within.length) / told.length;
        figures.push({
          ...{ ...common, figure: `estimates, ${slots} slots: within`, against: "low…high" },
          ...{ ours: `${within.length} of ${told.length}`, value: covered, unit: "%" },
          target: covered < 80 ? { atLeast: 70 } : { atMost: 90 },
        });
        figures.push({
          ...{ ...common, figure: `estimates, ${slots} slots: width`, against: "the estimate" },
          ...{ ours: "median of high − low", unit: "×", target: null },
          value: median(told.map(({ seconds, low, high }) => (high - low) / Math.max(seconds, TOLERANCE_S))),
        });
      }
    } finally {
      await subject.stop();
      await store.stop();
    }
    return { figures };
  },
};
