/**
 * `npm run check:start`: starts and stops `testServer` of the built package ten times, and prints how long that takes: the wall-clock
 * time, which depends on what else the machine does, and the CPU time of this process (that of the store's is not in it).
 */
import { defineHandler } from "paihao";
import type { testServer as TestServer } from "paihao/testing";

const RUNS = 10;
/** The build, since that is what users start. */
const BUILT = new URL("../dist/testing/index.js", import.meta.url).href;

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const median = (values: readonly number[]) =>
  Math.round([...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0);

const { testServer } = (await import(BUILT)) as { testServer: typeof TestServer };
const greet = defineHandler({ queue: "greet", run: () => "hello" });
const took: Record<"start" | "cpu" | "stop", number[]> = { start: [], cpu: [], stop: [] };
for (let run = 0; run < RUNS; run += 1) {
  const [began, cpu] = [performance.now(), cpuMs()];
  const server = await testServer({ handlers: [greet] });
  took.start.push(performance.now() - began);
  took.cpu.push(cpuMs() - cpu);
  const ending = performance.now();
  await server.stop();
  took.stop.push(performance.now() - ending);
}
console.log(`first start ${Math.round(took.start[0] ?? 0)} ms, including loading the server`);
console.log(
  `start ${median(took.start)} ms, of which CPU ${median(took.cpu)} ms; stop ${median(took.stop)} ms (medians of ${RUNS})`,
);
