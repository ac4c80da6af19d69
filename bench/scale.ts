import type { Bench, Figure } from "./harness/bench.ts";
import { startCallable } from "./harness/rpc.ts";
import { isSlowItself, slowScripts, slowWords, watchSlowlog } from "./harness/slowlog.ts";
import { type BenchStore, openStore } from "./harness/store.ts";
import type { ScaleCalls, WorkKind } from "./subjects/scale.ts";

const SIZES = {
  quick: { queues: 100, waiting: 50_000, finished: 5000 },
  full: { queues: 1000, waiting: 1_000_000, finished: 100_000 },
} as const;
const SMALL = { queues: 1, waiting: 1000, finished: 100 } as const;
type Size = { readonly queues: number; readonly waiting: number; readonly finished: number };

/** How often each kind of work is done, and its name. */
const WORK: Readonly<Record<WorkKind, { readonly count: number; readonly words: string }>> = {
  inspect: { count: 20_000, words: "index read" },
  submit: { count: 20_000, words: "submit" },
  take: { count: 20_000, words: "reserve and complete" },
  tick: { count: 20, words: "tick over all queues" },
  figures: { count: 5, words: "figures of all queues" },
};

/** What everything costs in a very full Redis: no cost may grow with what is waiting or kept. */
export const scale: Bench = {
  name: "scale",
  title: "1,000,000 waiting, 100,000 finished kept, 1,000 queues",
  async run(options) {
    const size = options.quick ? SIZES.quick : SIZES.full;
    options.say("small");
    const small = await measure(SMALL);
    options.say(`large: ${size.waiting.toLocaleString("en")} waiting; this takes a while`);
    const large = await measure(size);
    const figures: Figure[] = (Object.keys(WORK) as WorkKind[]).map((kind) => {
      const perQueue = kind === "tick" || kind === "figures";
      // These two read every queue: their cost per queue counts.
      const [ours, theirs] = [large, small].map((m) => m.micros[kind] / (perQueue ? m.size.queues : 1));
      const shown = (value = Number.NaN) => `${value.toFixed(1)} µs in Redis${perQueue ? " a queue" : ""}`;
      return {
        figure: WORK[kind].words,
        against: `${SMALL.waiting.toLocaleString("en")} waiting, one queue`,
        store: "no persistence",
        ours: shown(ours),
        theirs: shown(theirs),
        value: (ours ?? Number.NaN) / (theirs ?? Number.NaN),
        unit: "×",
        target: null,
      };
    });
    const mebibytes = large.usedMemory / 1024 ** 2;
    figures.push(
      {
        figure: "scripts above 5 ms (SLOWLOG)",
        against: "–",
        store: "no persistence",
        ours: large.slow.map(slowWords).join("; "),
        theirs: "",
        value: large.slow.length,
        unit: "",
        target: { atMost: 0 },
      },
      {
        figure: "the same without the command during which the machine paused",
        against: "–",
        store: "no persistence",
        ours: large.slow.filter(isSlowItself).map(slowWords).join("; "),
        theirs: "",
        value: large.slow.filter(isSlowItself).length,
        unit: "",
        target: { atMost: 0 },
      },
      {
        figure: "memory, waiting and finished together",
        against: "–",
        store: "no persistence",
        ours: `${Math.round(mebibytes)} MiB`,
        theirs: "",
        value: large.usedMemory / (size.waiting + size.finished),
        unit: "B",
        target: null,
      },
    );
    return { figures, raw: { small, large } };
  },
};

async function measure(size: Size) {
  const store = await openStore("no persistence");
  const engine = startCallable<ScaleCalls>("scale", [store.url, String(size.queues)]);
  try {
    await watchSlowlog(store.redis);
    await engine.call("fill", size);
    const usedMemory = await store.usedMemory();
    const micros = {} as Record<WorkKind, number>;
    for (const [kind, { count }] of Object.entries(WORK) as [WorkKind, { count: number }][]) {
      micros[kind] = await microsOf(store, engine, { kind, count, known: size.waiting });
    }
    return { size, micros, usedMemory, slow: await slowScripts(store.redis) };
  } finally {
    await engine.stop();
    await store.stop();
  }
}

/** µs that Redis spends in scripts for one piece of work. Taken tasks are submitted again, so that the line keeps its length. */
async function microsOf(
  store: BenchStore,
  engine: ReturnType<typeof startCallable<ScaleCalls>>,
  work: { kind: WorkKind; count: number; known: number },
): Promise<number> {
  if (work.kind === "take") await engine.call("work", { ...work, kind: "submit" });
  const before = await store.command("fcall");
  await engine.call("work", work);
  return ((await store.command("fcall")).micros - before.micros) / work.count;
}
