import { Keys } from "../src/store/keys.ts";
import { startCluster } from "../test/shared/redis-cluster.ts";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { commandCosts } from "./harness/commandstats.ts";
import { startCallable } from "./harness/rpc.ts";
import { withStore } from "./harness/store.ts";
import { type Costs, capacityOf, type Deployment, placed, queuesOf, spreadEvenly } from "./scale/cluster-model.ts";
import { lineMemory, predictedBytes } from "./scale/line-memory.ts";
import { masterMicros, processCosts } from "./scale/process-costs.ts";
import { callCost, type VerbCosts, verbCosts } from "./scale/verb-costs.ts";
import type { PaihaoCalls } from "./subjects/paihao.ts";

/** Lines in which calls are measured: bytes of input, and how many wait. Costs are those of the first, the second has longer inputs. */
const LINES = [
  [56, 100_000],
  [200, 100_000],
  [56, 1000],
  [56, 1_000_000],
] as const;
/** Lines whose memory is measured; the last checks what the others predict. */
const LENGTHS = { quick: [10_000, 50_000, 100_000], full: [10_000, 100_000, 1_000_000, 3_000_000] } as const;
const GOAL = 10_000_000;
/** 99 % of the calls wait no longer than this for those before them, ms. */
const BOUND_MS = 5;
/** How often a caller looks at its task, once a second; in a cluster the second. */
const LOOKS = [0, 1, 10, 60] as const;
const MASTERS = [3, 6, 12] as const;
const QUEUES = [10, 100, 1000] as const;
const OF_EACH_MASTER = { partitions: 2, processes: 4 } as const;
/** The tasks in a call of a line, and of a cluster, where the calls of a process are spread over more partitions. */
const BATCHES = { line: [1, 10, 32], cluster: 10 } as const;
const PREFIX = "ph";

/** One line on one core, many queues on a cluster, and ten million waiting tasks: measured, and computed from what was measured. */
export const scale: Bench = {
  name: "scale",
  title: "Scale: one line on one core of Redis, queues on 3, 6 and 12 masters (simulated), 10,000,000 waiting",
  async run(options) {
    const { costs, figures, note } = await ofCalls(options);
    const real = await ofRealCluster(costs, options);
    const parts = [ofLine(costs), ofClusters(costs), await ofMemory(56, options), await ofMemory(200, options)];
    return {
      figures: [...figures, real, ...parts.flatMap((part) => part.figures)],
      notes: [note, ...parts.map((part) => part.note)],
    };
  },
};

const figure = (figure: string, given: Pick<Figure, "value" | "unit"> & Partial<Figure>): Figure => ({
  ...{ figure, against: "–", store: "no persistence", ours: "", theirs: "", target: null, ...given },
});

const whole = (value: number): string => Math.round(value).toLocaleString("en");

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  ["", head, head.map(() => "---"), ...rows].map((row) => row && `| ${[row].flat().join(" | ")} |`).join("\n");

async function ofCalls({ quick, pairs, say }: BenchOptions) {
  const lines = quick ? LINES.slice(0, 3) : LINES;
  const measured: VerbCosts[] = [];
  for (const [bytes, waiting] of lines) {
    say(`calls on a line of ${whole(waiting)}, inputs of ${bytes} B`);
    const asked = { bytes, waiting, turns: pairs, tasks: quick ? 2000 : 4000 };
    measured.push(await withStore("no persistence", (store) => verbCosts(store, asked)));
  }
  say("processes without work on a cluster");
  const ofProcesses = await processCosts(quick ? 5 : 20);
  const [usual = new Map(), long = new Map()] = measured;
  const [submit, run, look] = (["submit", "run", "look"] as const).map((verb) => callCost(usual, verb));
  if (!submit || !run || !look) throw new Error("no calls were measured");
  const costs: Costs = { submit, run, look, ...ofProcesses };
  const both = (of: VerbCosts) => (of.get("submit 32") ?? 0) + (of.get("run 32") ?? 0);
  const { base, partition, queue } = costs.process;
  const note = [
    "µs of the core of Redis for each task, by how many are in a call; the fastest turn. A run reserves tasks and completes those before.",
    table(
      ["call", ...lines.map(([bytes, waiting]) => `${bytes} B, ${whole(waiting)} waiting`)],
      [...usual.keys()].map((name) => [name, ...measured.map((of) => (of.get(name) ?? 0).toFixed(1))]),
    ),
    "",
    `A process without work costs all masters together ${whole(base)} µs a second, ${whole(partition)} for each partition, ${queue.toFixed(1)} for each queue.`,
    `Each process that hears of a task in an empty line and asks for it costs ${whole(costs.wake)} µs.`,
  ].join("\n");
  const longer = { value: both(long) / both(usual), unit: "×", against: "of 56 B" } as const;
  return { costs, note, figures: [figure("a task with an input of 200 B: CPU of Redis, calls of 32", longer)] };
}

/** One line on one core, with so many tasks in a call. */
const lineOf = (batch: number, looks: number): Deployment => ({
  ...{ masters: 1, masterOf: [0], queues: [{ partition: 0, share: 1 }], processes: OF_EACH_MASTER.processes },
  ...{ looks, idle: false, batch },
});

function ofLine(costs: Costs) {
  const perSecond = (batch: number, looks: number) => capacityOf(lineOf(batch, looks), costs, BOUND_MS).tasksPerSecond;
  const rows = BATCHES.line.map((batch) => [String(batch), ...LOOKS.map((looks) => whole(perSecond(batch, looks)))]);
  return {
    figures: [
      figure("one line on one core, calls of 32", { value: perSecond(32, 0), unit: "/s" }),
      figure("one line on one core, calls of 1", { value: perSecond(1, 0), unit: "/s" }),
      figure("calls of 32, each caller looks every second for 10 s", { value: perSecond(32, 10), unit: "/s" }),
    ],
    note: [
      `Tasks a second of one line on one core while 99 % of the calls wait at most ${BOUND_MS} ms in Redis, by how often each caller looks.`,
      table(["tasks in a call", ...LOOKS.map((looks) => `${looks} looks`)], rows),
    ].join("\n"),
  };
}

function ofClusters(costs: Costs) {
  const perSecond = (deployment: Deployment) => capacityOf(deployment, costs, BOUND_MS).tasksPerSecond;
  const of = (masters: number, count: number, load: (n: number) => number, place: typeof placed): Deployment => {
    const keys = new Keys(PREFIX, OF_EACH_MASTER.partitions * masters);
    const where = { masters, masterOf: place(keys, masters), queues: queuesOf(keys, count, load) };
    return { ...lineOf(BATCHES.cluster, LOOKS[1]), ...where, processes: OF_EACH_MASTER.processes * masters };
  };
  const [even, zipf] = [() => 1, (n: number) => 1 / (n + 1)];
  const [one, alone] = [BATCHES.cluster, 1].map((batch) => perSecond(lineOf(batch, LOOKS[1])));
  const simulated = MASTERS.flatMap((masters) =>
    QUEUES.map((count) => {
      const busy = [placed, spreadEvenly].flatMap((place) =>
        [even, zipf].map((load) => perSecond(of(masters, count, load, place)) / (one ?? 0)),
      );
      const idle = perSecond({ ...of(masters, count, even, spreadEvenly), batch: 1, idle: true }) / (alone ?? 0);
      return { masters, count, times: [...busy, idle] };
    }),
  );
  const times = (value = 0) => ({ value, unit: "×", against: "one line on one master" }) as const;
  return {
    figures: simulated
      .filter(({ count }) => count === 100)
      .flatMap(({ masters, times: [asPlaced, , moved, , idle] }) => [
        figure(`${masters} masters, 100 queues with even load, simulated`, times(asPlaced)),
        figure("the same with as many partitions on each master", times(moved)),
        figure("of that, while all workers are idle", times(idle)),
      ]),
    note: [
      `Simulated: tasks a second of a cluster while 99 % of the calls to each master wait at most ${BOUND_MS} ms, as multiples of one line on one master with such calls.`,
      `Assumed: ${OF_EACH_MASTER.partitions} partitions and ${OF_EACH_MASTER.processes} processes for each master; each process has all queues; ${BATCHES.cluster} tasks in a call; each caller looks once; calls come at random times; ids are the server's, results short; no persistence, no replicas; expiry of ended tasks is left out.`,
      "Slots are those of redis-cli --cluster create, or (moved) moved until each master has as many partitions. Idle: one task in a call, which comes to an empty line, so that all processes ask for it.",
      table(
        ["masters", "queues", "even", "Zipf", "moved, even", "moved, Zipf", "moved, even, idle"],
        simulated.map(({ masters, count, times }) => [
          String(masters),
          String(count),
          ...times.map((value) => `${value.toFixed(2)}×`),
        ]),
      ),
    ].join("\n"),
  };
}

/** What three real masters take, compared with what the costs predict for as many calls and tasks. */
async function ofRealCluster(costs: Costs, { quick, say }: BenchOptions): Promise<Figure> {
  say("a real cluster");
  const count = quick ? 20_000 : 120_000;
  const cluster = await startCluster({ masters: 3, replicas: 0 });
  const paihao = startCallable<PaihaoCalls>("paihao", [cluster.url, PREFIX, "6"]);
  const calls = async () => {
    const all = await Promise.all(cluster.nodes.map(({ admin }) => commandCosts(admin)));
    return all.reduce((sum, one) => sum + (one.get("fcall")?.calls ?? 0), 0);
  };
  let [measured, predicted] = [0, 0];
  const step = async ({ call, task }: Costs["run"], work: () => Promise<unknown>) => {
    const before = await calls();
    measured += (await masterMicros(cluster, work)) / count;
    predicted += (call * ((await calls()) - before)) / count + task;
  };
  try {
    // The first calls load the library.
    await paihao.call("fill", { count: 6000, bytes: 56 });
    await step(costs.submit, () => paihao.call("fill", { count, bytes: 56 }));
    await step(costs.run, () => paihao.call("work", { count, concurrency: 100 }));
    const [ours, theirs] = [measured, predicted].map((micros) => `${micros.toFixed(1)} µs per task`);
    const compared = { ours: ours ?? "", against: "by the costs of calls", theirs: theirs ?? "" };
    return figure("three real masters: their CPU", { value: measured / predicted, unit: "×", ...compared });
  } finally {
    await paihao.stop();
    await cluster.stop();
  }
}

async function ofMemory(bytes: number, { quick, say }: BenchOptions) {
  say(`memory of lines, inputs of ${bytes} B`);
  const { lines, last, snapshot } = await lineMemory(quick ? LENGTHS.quick : LENGTHS.full, bytes);
  const all = [...lines, last];
  const goal = predictedBytes(all, GOAL);
  const off = Math.abs(predictedBytes(lines, last.waiting) / last.bytes - 1) * 100;
  const { forkMs, seconds, copiedBytes, tasks } = snapshot;
  const predicted = { value: goal / GOAL, unit: "B", ours: `${(goal / 1e9).toFixed(2)} GB in all` } as const;
  return {
    figures: [figure(`each of ${whole(GOAL)} waiting, inputs of ${bytes} B, predicted`, predicted)],
    note: [
      `Inputs of ${bytes} B: ${all.map((line) => `${whole(line.waiting)} waiting take ${whole(line.bytes / 1e6)} MB`).join(", ")}. The others predict the last to ${off.toFixed(2)} %.`,
      `For a snapshot of the last, the fork held Redis for ${whole(forkMs)} ms (${whole((forkMs / last.bytes) * 1e9)} ms a GB), writing took ${seconds.toFixed(1)} s, and ${whole(copiedBytes / 1e6)} MB were copied while ${whole(tasks)} tasks ran (${whole(copiedBytes / tasks)} B each).`,
    ].join(" "),
  };
}
