import { BODY, COMPILE_SECONDS, oneTurn } from "./accept.ts";
import type { Bench, BenchOptions } from "./harness/bench.ts";
import { compare, micros } from "./harness/judge.ts";
import { makeLoad } from "./harness/load.ts";
import { type ServerSubject, startPaihao, startServerSubject } from "./harness/process.ts";
import { type BenchStore, withStore } from "./harness/store.ts";
import { inTurns } from "./harness/turns.ts";

/** What traces cost per accept: none, a tenth, or all of them sent to a collector. */
export const tracing: Bench = {
  name: "tracing",
  title: "HTTP accept with traces: none, a tenth, all",
  run: (options) => withStore("no persistence", (store) => measure(store, options)),
};

async function measure(store: BenchStore, options: BenchOptions) {
  const collector = await startServerSubject("collector");
  const start = (env: Record<string, string>) => startPaihao({ REDIS_URL: store.url, ROLE: "api", ...env });
  const traced = (ratio: string) =>
    start({
      NODE_OPTIONS: `--import=${new URL("../deploy/otel.mjs", import.meta.url).href}`,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${collector.port}/v1/traces`,
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: ratio,
    });
  const servers = { none: await start({}), tenth: await traced("0.1"), all: await traced("1") };
  try {
    for (const { port } of Object.values(servers)) await makeLoad({ port, seconds: COMPILE_SECONDS, body: BODY });
    const turn = (server: ServerSubject) => async () =>
      (await oneTurn(server, store, options.quick ? 2 : 6)).serverMicros;
    const turns = await inTurns(options.pairs, {
      none: turn(servers.none),
      tenth: turn(servers.tenth),
      all: turn(servers.all),
    });
    const common = { against: "no traces", store: store.mode, theirs: turns.none, show: micros };
    const figure = (what: string) => `HTTP accept, ${what}: CPU of the server per request`;
    return {
      figures: [
        compare({ ...common, figure: figure("a tenth traced"), ours: turns.tenth, target: { atMost: 1.1 } }),
        compare({ ...common, figure: figure("all traced"), ours: turns.all, target: { atMost: 1.5 } }),
      ],
    };
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
    await collector.stop();
  }
}
