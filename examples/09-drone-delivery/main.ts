/**
 * The drone delivery: `npx tsx examples/09-drone-delivery/main.ts [--deliveries 1000] [--workers 3] [--transient 0.05]
 * [--lasting 0.01] [--kills 10] [--kill-every SECONDS]`. Prints the requests of one delivery, and the outcomes of all; exit
 * code 1 if a promise was broken.
 */
import { parseArgs } from "node:util";
import { type DemoResult, runDemo } from "./demo.ts";

const { values } = parseArgs({
  options: {
    deliveries: { type: "string", default: "1000" },
    workers: { type: "string", default: "3" },
    transient: { type: "string", default: "0.05" },
    lasting: { type: "string", default: "0.01" },
    kills: { type: "string", default: "10" },
    "kill-every": { type: "string" },
    redis: { type: "string" },
  },
});

const deliveries = Number(values.deliveries);
const killEvery = values["kill-every"];
const killed =
  killEvery === undefined ? `${values.kills} of them killed on the way` : `one killed every ${killEvery} s`;
console.error(`${deliveries} deliveries, ${values.workers} workers, ${killed}`);
const result = await runDemo({
  deliveries,
  workers: Number(values.workers),
  faults: { transient: Number(values.transient), lasting: Number(values.lasting) },
  kills: Number(values.kills),
  killEveryMs: killEvery === undefined ? undefined : Number(killEvery) * 1000,
  redisUrl: values.redis ?? process.env.REDIS_URL,
  onProgress: (done, kills) => console.error(`${done} of ${deliveries} done, ${kills} workers killed`),
});
console.log(traceOf(result).join("\n"));
console.log(`
scheduled once in all services     ${result.scheduled}
refused by one, undone in all      ${result.undone}
workers killed                     ${result.kills}
requests that the services saw     ${result.journal.length}
promises broken                    ${result.broken.length}`);
for (const line of result.broken.slice(0, 20)) console.log(`  ${line}`);
process.exitCode = result.broken.length > 0 ? 1 : 0;

/** The requests of the delivery that took the most. */
function traceOf({ journal }: DemoResult): string[] {
  const byId = new Map<string, (typeof journal)[number][]>();
  for (const entry of journal) byId.set(entry.id, [...(byId.get(entry.id) ?? []), entry]);
  const [longest = []] = [...byId.values()].sort((a, b) => b.length - a.length);
  const began = longest[0]?.at ?? 0;
  return [
    `delivery ${longest[0]?.id}`,
    ...longest.map(({ at, service, method, status }) => {
      const ms = String(at - began).padStart(7);
      return `${ms} ms  ${method.padEnd(6)} ${service.padEnd(10)} ${status}`;
    }),
  ];
}
