import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { compare, micros, perSecond } from "./harness/judge.ts";
import { bodyOf, makeLoad } from "./harness/load.ts";
import type { Peer, PeerCalls } from "./harness/peers.ts";
import { type ServerSubject, startPaihao } from "./harness/process.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withEachStore } from "./harness/store.ts";
import { inTurns } from "./harness/turns.ts";

/** Tasks of a batch over HTTP, and of an addBulk. */
const LINES = 1000;
/** Callers who send one batch after another: two keep the server busy. */
const CALLERS = 2;
/** How long each turn's load over HTTP runs before it is measured. */
const WARM_SECONDS = 0.5;

interface Turn {
  readonly tasksPerSecond: number;
  /** µs of CPU per task: of the process that submits it, and of Redis. */
  readonly ownMicros: number;
  readonly redisMicros: number;
}

/** Submitting tasks by the thousand: to the engine, and over HTTP. */
export const submit: Bench = {
  name: "submit",
  title: "Submitting in bulk: to the engine, and over HTTP in batches of 1,000",
  async run(options) {
    const figures = await withEachStore((store) => measure(store, options));
    return { figures: figures.flat() };
  },
};

async function measure(store: BenchStore, options: BenchOptions) {
  options.say(`store: ${store.mode}`);
  const engine = startCallable<PeerCalls>("paihao", [store.url, "ph"]);
  const bullmq = startCallable<PeerCalls>("bullmq", [String(store.port)]);
  const server = await startPaihao({ REDIS_URL: store.url, ROLE: "api", MAX_WAITING: "100000000" });
  const count = options.quick ? 20_000 : 60_000;
  const called = (peer: Peer) => () =>
    oneTurn(peer, store, async () => ({ tasks: count, ms: await peer.call("fill", { count, bytes: 56 }) }));
  try {
    const turns = await inTurns(options.pairs, {
      engine: called(engine),
      bullmq: called(bullmq),
      batches: () => oneTurn(server, store, () => sendBatches(server, options.quick ? 2 : 4)),
    });
    return figuresOf(turns, store.mode);
  } finally {
    await Promise.all([engine.stop(), bullmq.stop(), server.stop()]);
  }
}

async function oneTurn(
  subject: Peer | ServerSubject,
  store: BenchStore,
  fill: () => Promise<{ tasks: number; ms: number }>,
): Promise<Turn> {
  await store.clear();
  const [own, redis] = [subject.cpuSeconds(), store.cpuSeconds()];
  const { tasks, ms } = await fill();
  return {
    tasksPerSecond: (tasks / ms) * 1000,
    ownMicros: ((subject.cpuSeconds() - own) / tasks) * 1e6,
    redisMicros: ((store.cpuSeconds() - redis) / tasks) * 1e6,
  };
}

async function sendBatches({ port }: ServerSubject, seconds: number): Promise<{ tasks: number; ms: number }> {
  const load = await makeLoad({
    ...{ port, seconds, connections: CALLERS, warmSeconds: WARM_SECONDS, path: "/v1/queues/default/batches" },
    headers: { "Content-Type": "application/x-ndjson" },
    body: `${bodyOf(56)}\n`.repeat(LINES),
  });
  if (load.statuses["202"] !== load.requests || load.problems > 0) {
    throw new Error(`not all accepted: ${JSON.stringify(load.statuses)}, ${load.problems} with a problem`);
  }
  // The warm-up's share of the CPU belongs to its tasks.
  const ms = (load.seconds + WARM_SECONDS) * 1000;
  return { tasks: (load.perSecond * LINES * ms) / 1000, ms };
}

function figuresOf(turns: Record<"engine" | "bullmq" | "batches", Turn[]>, store: string): Figure[] {
  const compared = (name: "engine" | "batches", figure: string, atLeast: number): Figure[] => {
    const against = (pick: (turn: Turn) => number) => ({
      ...{ store, against: "BullMQ addBulk, 1,000 a call" },
      ...{ ours: turns[name].map(pick), theirs: turns.bullmq.map(pick) },
    });
    const told = { show: micros, target: null };
    return [
      compare({ figure, ...against((turn) => turn.tasksPerSecond), show: perSecond, target: { atLeast } }),
      compare({ ...told, figure: `${figure}: CPU of the process per task`, ...against((turn) => turn.ownMicros) }),
      compare({ ...told, figure: `${figure}: CPU of Redis per task`, ...against((turn) => turn.redisMicros) }),
    ];
  };
  return [...compared("engine", "submit in bulk", 5), ...compared("batches", "HTTP batches of 1,000", 3)];
}
