import type { Bench, Figure } from "./bench.ts";
import { type Load, type LoadPlan, makeLoad } from "./load.ts";
import { startPaihao } from "./process.ts";
import { type BenchStore, withEachStore } from "./store.ts";

/** CPU time per request, µs. */
interface RequestCpu {
  readonly serverMicros: number;
  readonly storeMicros: number;
}

/** A benchmark of an API process that is sent requests at a fixed rate, whether or not it keeps up. */
export interface OpenLoop {
  readonly name: string;
  readonly title: string;
  readonly seconds: number;
  /** The same with `--quick`. */
  readonly quickSeconds: number;
  /** Additional settings of the server. */
  readonly env?: Readonly<Record<string, string>>;
  readonly load: Partial<LoadPlan> & { readonly rate: number };
  /** The load in words. */
  readonly against: string;
  figures(
    load: Load,
    store: BenchStore,
    cpu: RequestCpu,
  ): Promise<readonly Pick<Figure, "figure" | "ours" | "value" | "unit" | "target">[]>;
}

/** Makes it run once for each persistence mode. */
export function openLoop({ name, title, seconds, quickSeconds, env, load: plan, against, figures }: OpenLoop): Bench {
  const measure = async (store: BenchStore, forSeconds: number) => {
    const server = await startPaihao({ REDIS_URL: store.url, ROLE: "api", MAX_WAITING: "100000000", ...env });
    try {
      const before = { server: server.cpuSeconds(), store: store.cpuSeconds() };
      const load = await makeLoad({ port: server.port, seconds: forSeconds, ...plan });
      const micros = (used: number) => (used * 1e6) / load.sent;
      const cpu = {
        serverMicros: micros(server.cpuSeconds() - before.server),
        storeMicros: micros(store.cpuSeconds() - before.store),
      };
      const common = { against: `${against} for ${forSeconds} s`, store: store.mode, theirs: "" };
      const found = await figures(load, store, cpu);
      return found.map((one): Figure => ({ ...common, ...one }));
    } finally {
      await server.stop();
    }
  };
  return {
    name,
    title,
    async run(options) {
      const figures = await withEachStore(async (store) => {
        options.say(`store: ${store.mode}`);
        return measure(store, options.quick ? quickSeconds : seconds);
      });
      return { figures: figures.flat() };
    },
  };
}
