import { type Forecast, forecastTurnovers } from "../src/engine/estimates/forecast.ts";
import { forecastStart } from "../src/engine/estimates/worker-start.ts";
import { ARRIVALS, simulateLine, WORKLOADS, type WorkloadName } from "../test/shared/line-simulation.ts";
import { START_TIMES, type StartTimes, simulateStarts } from "../test/shared/start-simulation.ts";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { startCallable } from "./harness/rpc.ts";
import { openStore } from "./harness/store.ts";
import { median } from "./harness/turns.ts";
import type { EstimateCalls } from "./subjects/estimates.ts";

const SLOTS = [1, 4, 8] as const;
const NAMES = Object.keys(WORKLOADS) as WorkloadName[];
/** Mean service time of the tasks that really sleep, ms: long compared with what a task costs the engine. */
const REAL_MEAN_MS = 50;
/** Slots of all lines together: more would keep two cores so busy that tasks sleep longer. */
const REAL_SLOTS = 32;
const MAX_LINES = 12;
/** From this many service times on, the width is judged. */
const SEASONED = 100;
/** Redis reports times in whole milliseconds. */
const TOLERANCE_S = 0.001;

/** How often the true start lies between low and high, which should be about 80 of 100 cases, and how far apart these are. */
export const estimates: Bench = {
  name: "estimates",
  title: "Estimates: how often the true start lies within low…high, and how wide that is",
  async run(options) {
    const simulated = NAMES.flatMap((name) => SLOTS.map((slots) => simulate(name, slots, options.quick ? 2 : 10)));
    const starts = (Object.keys(START_TIMES) as StartTimes[]).map((name) =>
      coverStarts(name, options.quick ? 20 : 200),
    );
    const real = await measureReal(options);
    return {
      figures: [...simulated, ...starts, ...real].flatMap(figuresOf),
      notes: [
        "Each simulated figure takes steady arrivals, bursts of 400 and waves of 30 together; `against` has the worst of the three. " +
          "On the engine, several lines run at once, and estimates are taken as callers get them. " +
          `The width is the median of high − low over the estimate itself, of estimates based on ${SEASONED} service times or more.`,
      ],
    };
  },
};

/** One estimate and its outcome. */
interface Look {
  readonly samples: number;
  readonly within: boolean;
  /** The width of low…high, as a multiple of the estimate. */
  readonly width: number;
}

interface Coverage {
  readonly name: WorkloadName | `starts, ${StartTimes}`;
  readonly where: string;
  readonly against: string;
  readonly looks: number;
  readonly within: number;
  readonly width: number;
}

function coverageOf(looks: readonly Look[]): Pick<Coverage, "looks" | "within" | "width"> {
  const widths = looks.filter(({ samples }) => samples >= SEASONED).map(({ width }) => width);
  return { looks: looks.length, within: looks.filter(({ within }) => within).length, width: median(widths) };
}

const percentOf = ({ within, looks }: Pick<Coverage, "within" | "looks">): number => (100 * within) / looks;

function figuresOf({ name, where, against, within, looks, width }: Coverage): Figure[] {
  const covered = percentOf({ within, looks });
  const ours = `${within.toLocaleString("en")} of ${looks.toLocaleString("en")}`;
  const common = { store: "–", theirs: "", unit: "%" } as const;
  return [
    {
      ...common,
      figure: `${name}, ${where}: within`,
      against,
      ours,
      value: covered,
      // The band has two ends: the nearer one is shown.
      target: covered < 80 ? { atLeast: 70 } : { atMost: 90 },
    },
    {
      ...common,
      figure: `${name}, ${where}: width`,
      against: "the estimate",
      ours: "",
      value: 100 * width,
      target: name === "constant" ? { atMost: 25 } : null,
    },
  ];
}

function simulate(name: WorkloadName, slots: number, seeds: number): Coverage {
  const all: Look[] = [];
  const each = ARRIVALS.map((arrivals) => {
    const looks: Look[] = [];
    for (let seed = 1; seed <= seeds; seed += 1) {
      for (const { busy, waited } of simulateLine({ workload: WORKLOADS[name], arrivals, slots, tasks: 4000, seed })) {
        looks.push(lookAt(forecastTurnovers(busy), waited, busy.service.samples));
      }
    }
    for (const look of looks) all.push(look);
    return { arrivals, percent: percentOf(coverageOf(looks)) };
  });
  const [worst] = each.sort((a, b) => Math.abs(b.percent - 80) - Math.abs(a.percent - 80));
  return {
    name,
    where: `${slots} slots, simulated`,
    against: `${worst?.arrivals} alone: ${worst?.percent.toFixed(0)} %`,
    ...coverageOf(all),
  };
}

/** While there is no worker: how often it starts within low…high, in the twenty starts after the first five. */
function coverStarts(times: StartTimes, seeds: number): Coverage {
  const looks: Look[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    for (const { starting, leftMs } of simulateStarts(times, 20, seed)) {
      looks.push(lookAt(forecastStart(starting), leftMs, SEASONED));
    }
  }
  return { name: `starts, ${times}`, where: "no worker, simulated", against: "", ...coverageOf(looks) };
}

function lookAt({ lowMs, middleMs, highMs }: Forecast, waited: number, samples: number): Look {
  return { samples, within: waited >= lowMs && waited <= highMs, width: (highMs - lowMs) / middleMs };
}

/** The same on the engine itself: tasks that sleep, in waves. Smaller, since its time is real. */
async function measureReal(options: BenchOptions): Promise<Coverage[]> {
  const store = await openStore("no persistence");
  const subject = startCallable<EstimateCalls>("estimates", [store.url]);
  try {
    const measured: Coverage[] = [];
    for (const name of NAMES) {
      for (const slots of options.quick ? [4] : SLOTS) {
        const lines = Math.min(MAX_LINES, REAL_SLOTS / slots);
        options.say(`on the engine: ${name}, ${lines} lines of ${slots} slots`);
        const tasks = (options.quick ? 200 : 400) * Math.ceil(slots / 2);
        const told = await subject.call("measure", {
          ...{ workload: name, slots, lines, tasks, meanMs: REAL_MEAN_MS },
          prefix: `${name}${slots}`,
        });
        const looks = told.map(({ samples, low, seconds, high, waited }) => ({
          samples,
          within: waited >= low - TOLERANCE_S && waited <= high + TOLERANCE_S,
          width: (high - low) / Math.max(seconds, TOLERANCE_S),
        }));
        const young = coverageOf(looks.filter(({ samples }) => samples < SEASONED));
        const against = `of fewer than ${SEASONED} service times: ${percentOf(young).toFixed(0)} %`;
        measured.push({ name, where: `${slots} slots, on the engine`, against, ...coverageOf(looks) });
      }
    }
    return measured;
  } finally {
    await subject.stop();
    await store.stop();
  }
}
