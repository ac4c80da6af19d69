import { type Forecast, forecastStart, forecastTurnovers } from "../src/engine/estimates/forecast.ts";
import { ARRIVALS, simulateLine, WORKLOADS, type WorkloadName } from "../test/shared/line-simulation.ts";
import { START_TIMES, type StartTimes, simulateStarts } from "../test/shared/start-simulation.ts";
import type { Bench, BenchOptions, Figure, Target } from "./harness/bench.ts";
import { startCallable } from "./harness/rpc.ts";
import { openStore } from "./harness/store.ts";
import { median } from "./harness/turns.ts";
import { CHANGE_NAMES, changeOf, type Line, TRACES, type TraceName, traceOf, wavesOf } from "./lines.ts";
import type { EstimateCalls, Told } from "./subjects/estimates.ts";

const SLOTS = [1, 4, 8] as const;
const NAMES = Object.keys(WORKLOADS) as WorkloadName[];
/** Mean service time of the tasks that really sleep, ms: long compared with what a task costs the engine. */
const REAL_MEAN_MS = 50;
/** Slots of all lines together: more would keep two cores so busy that tasks sleep longer. */
const REAL_SLOTS = 32;
const MAX_LINES = 12;
const TRACE_SLOTS = 8;
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
    const real = await onEngine(options);
    return {
      figures: [...[...simulated, ...starts, ...real.workloads].flatMap(figuresOf), ...real.changes, ...real.traces],
      notes: [
        "Each simulated figure takes steady arrivals, bursts of 400 and waves of 30 together; `against` has the worst of the three. " +
          "On the engine, several lines run at once, and estimates are taken as callers get them. " +
          `The width is the median of high − low over the estimate itself, of estimates based on ${SEASONED} service times or more.`,
        `Work that changes: ${CHANGE_NAMES.join("; ")}, where slow is 25 times fast; judged is the flood, which comes when a hundred ` +
          "tasks of the new kind have ended.",
        "Azure's traces (bench/data): real arrivals and sizes of requests to language models, three windows of 600 requests each; a request " +
          "takes 0.1 ms a context token and 25 ms a generated one, " +
          `${TRACES.conversations.speed} times (conversations) and ${TRACES.code.speed} times (code) as fast; the arrivals are stretched ` +
          "so that the slots are 94 % busy. The error is the median of |told − waited| / waited, the bias all that was told over all that was " +
          "waited, less one.",
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

type Measure = (prefix: string, slots: number, lines: readonly Line[]) => Promise<Told[]>;

/** The same on the engine itself, with tasks that sleep. Smaller, since its time is real. */
async function onEngine(options: BenchOptions) {
  const store = await openStore("no persistence");
  const subject = startCallable<EstimateCalls>("estimates", [store.url]);
  const measure: Measure = (prefix, slots, lines) => {
    options.say(`on the engine: ${prefix}, ${lines.length} lines of ${slots} slots`);
    return subject.call("measure", { prefix, slots, lines });
  };
  try {
    return {
      workloads: await measureWorkloads(options, measure),
      changes: await measureChanges(measure),
      traces: await measureTraces(measure),
    };
  } finally {
    await subject.stop();
    await store.stop();
  }
}

async function measureWorkloads(options: BenchOptions, measure: Measure): Promise<Coverage[]> {
  const measured: Coverage[] = [];
  for (const name of NAMES) {
    for (const slots of options.quick ? [4] : SLOTS) {
      const tasks = (options.quick ? 200 : 400) * Math.ceil(slots / 2);
      const count = Math.min(MAX_LINES, REAL_SLOTS / slots);
      const lines = Array.from({ length: count }, (_, n) => wavesOf(name, slots, tasks, REAL_MEAN_MS, n));
      const told = await measure(`${name}${slots}`, slots, lines);
      const looks = told.map((one) => ({ samples: one.samples, within: isWithin(one), width: widthOf(one) }));
      const young = coverageOf(looks.filter(({ samples }) => samples < SEASONED));
      const against = `of fewer than ${SEASONED} service times: ${percentOf(young).toFixed(0)} %`;
      measured.push({ name, where: `${slots} slots, on the engine`, against, ...coverageOf(looks) });
    }
  }
  return measured;
}

async function measureChanges(measure: Measure): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of CHANGE_NAMES) {
    const lines = Array.from({ length: 3 }, (_, n) => changeOf(name, 4, n));
    const told = await measure(name.replaceAll(", ", "-"), 4, lines);
    const least = Math.min(...told.map(({ seconds, waited }) => seconds / Math.max(waited, TOLERANCE_S)));
    figures.push(
      accuracy(`${name}: median error`, told, 100 * errorOf(told), { atMost: 35 }),
      accuracy(`${name}: the least that was told`, told, 100 * least, { atLeast: 10 }),
    );
  }
  return figures;
}

async function measureTraces(measure: Measure): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of Object.keys(TRACES) as TraceName[]) {
    const told = await measure(name, TRACE_SLOTS, traceOf(name, TRACE_SLOTS));
    const within = (100 * told.filter(isWithin).length) / told.length;
    const [saidS, waitedS] = [told, told].map((all, n) =>
      all.reduce((sum, { seconds, waited }) => sum + (n === 0 ? seconds : waited), 0),
    );
    const bias = 100 * ((saidS ?? 0) / (waitedS ?? 1) - 1);
    const what = `Azure's trace, ${name}`;
    figures.push(
      accuracy(`${what}: within`, told, within, within < 82 ? { atLeast: 70 } : { atMost: 95 }),
      accuracy(`${what}: median error`, told, 100 * errorOf(told), { atMost: name === "code" ? 25 : 20 }),
      accuracy(`${what}: bias`, told, bias, bias < 0 ? { atLeast: -10 } : { atMost: 10 }),
    );
  }
  return figures;
}

const isWithin = ({ low, high, waited }: Told): boolean => waited >= low - TOLERANCE_S && waited <= high + TOLERANCE_S;
const widthOf = ({ low, seconds, high }: Told): number => (high - low) / Math.max(seconds, TOLERANCE_S);

/** The median of how far the estimates were off, as a share of the true wait. */
const errorOf = (told: readonly Told[]): number =>
  median(told.map(({ seconds, waited }) => Math.abs(seconds - waited) / Math.max(waited, TOLERANCE_S)));

function accuracy(figure: string, told: readonly Told[], value: number, target: Target): Figure {
  const ours = `${told.length.toLocaleString("en")} estimates`;
  return { figure, against: "the true starts", store: "–", ours, theirs: "", value, unit: "%", target };
}
