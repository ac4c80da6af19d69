import { forecastTurnovers } from "../src/engine/estimates/forecast.ts";
import { ARRIVALS, simulateLine, WORKLOADS, type WorkloadName } from "../testbed/line-simulation.ts";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { startCallable } from "./harness/rpc.ts";
import { openStore } from "./harness/store.ts";
import type { EstimateCalls } from "./subjects/estimates.ts";

const SLOTS = [1, 4, 8] as const;
const NAMES = Object.keys(WORKLOADS) as WorkloadName[];
/** Mean service time of the tasks that really sleep, ms: long beside what a task costs the engine. */
const REAL_MEAN_MS = 50;

/** How often the true start lies between low and high, which is promised for about 80 of 100 cases. */
export const estimates: Bench = {
  name: "estimates",
  title: "Estimates: how often the true start lies within low…high",
  async run(options) {
    const simulated = NAMES.flatMap((name) => SLOTS.map((slots) => simulate(name, slots, options.quick ? 2 : 10)));
    const real = await measureReal(options);
    const figures = [...simulated, ...real].flatMap(({ figure, against, within, looks }) => {
      const value = (100 * within) / looks;
      const common: Omit<Figure, "target"> = {
        figure,
        against,
        store: "–",
        ours: `${within.toLocaleString("en")} of ${looks.toLocaleString("en")}`,
        theirs: "",
        value,
        unit: "%",
      };
      // The band has two ends: the one that is nearer is shown.
      return [{ ...common, target: value < 80 ? ({ atLeast: 70 } as const) : ({ atMost: 90 } as const) }];
    });
    return {
      figures,
      notes: [
        "Each simulated figure takes steady arrivals, bursts of 400 and waves of 30 together; `against` tells the worst of the three alone.",
      ],
      raw: { simulated, real },
    };
  },
};

interface Coverage {
  readonly figure: string;
  readonly against: string;
  readonly within: number;
  readonly looks: number;
}

function simulate(name: WorkloadName, slots: number, seeds: number): Coverage {
  const each = ARRIVALS.map((arrivals) => {
    let within = 0;
    let looks = 0;
    for (let seed = 1; seed <= seeds; seed += 1) {
      for (const { busy, waited } of simulateLine({ workload: WORKLOADS[name], arrivals, slots, tasks: 4000, seed })) {
        const { lowMs, highMs } = forecastTurnovers(busy);
        looks += 1;
        if (waited >= lowMs && waited <= highMs) within += 1;
      }
    }
    return { arrivals, within, looks, percent: (100 * within) / looks };
  });
  const [worst] = each.sort((a, b) => Math.abs(b.percent - 80) - Math.abs(a.percent - 80));
  return {
    figure: `${name}, ${slots} slots, simulated`,
    against: `${worst?.arrivals} alone: ${worst?.percent.toFixed(0)} %`,
    within: each.reduce((sum, one) => sum + one.within, 0),
    looks: each.reduce((sum, one) => sum + one.looks, 0),
  };
}

/** The same on the engine itself: tasks that sleep, in waves. Smaller, since its time is real. */
async function measureReal(options: BenchOptions): Promise<Coverage[]> {
  const store = await openStore("no persistence");
  const subject = startCallable<EstimateCalls>("estimates", [store.url]);
  try {
    const measured: Coverage[] = [];
    for (const name of NAMES) {
      for (const slots of options.quick ? [4] : SLOTS) {
        options.say(`on the engine: ${name}, ${slots} slots`);
        const tasks = (options.quick ? 150 : 400) * Math.ceil(slots / 2);
        const args = { workload: name, slots, tasks, meanMs: REAL_MEAN_MS, prefix: `${name}${slots}` };
        const { within, estimates: looks } = await subject.call("measure", args);
        measured.push({ figure: `${name}, ${slots} slots, on the engine`, against: "tasks that sleep", within, looks });
      }
    }
    return measured;
  } finally {
    await subject.stop();
    await store.stop();
  }
}
