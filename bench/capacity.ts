/** `npm run capacity -- --help` lists the options. */
import { Command, InvalidArgumentError } from "commander";
import { parseDuration } from "../src/config/duration.ts";
import { size } from "../src/config/values.ts";
import { capacityOf, type Demand, MEMORY_MARGIN, readCosts, USED } from "./harness/capacity.ts";

const SIZE = size("200");
const bytes = (text: string): number => SIZE.read(text) ?? refuse(SIZE.expected);
const ms = (text: string): number => parseDuration(text) ?? refuse("a duration such as 200ms, 30s, 1h");
const count = (text: string): number => (/^\d+(?:\.\d+)?$/.test(text) ? Number(text) : refuse("a number, 0 or more"));

const program = new Command("npm run capacity --")
  .description("Estimates memory, CPU and workers from the newest measurements in bench/results: docs/capacity.md.")
  .requiredOption("--tasks <n>", "tasks per second, on average", count)
  .option("--input <size>", "size of an input", bytes, 200)
  .option("--result <size>", "size of a result", bytes, 200)
  .option("--service <time>", "how long a handler takes", ms, 1000)
  .option("--waiting <n>", "tasks waiting at the worst moment", count, 1000)
  .option("--result-ttl <time>", "RESULT_TTL", ms, 3_600_000)
  .option("--tombstone-ttl <time>", "TOMBSTONE_TTL", ms, 86_400_000)
  .option("--concurrency <n>", "slots of a worker process (CONCURRENCY)", count, 8)
  .parse();
const given = program.opts<Record<"tasks" | "input" | "result" | "service" | "resultTtl" | "tombstoneTtl", number>>();
const demand: Demand = {
  ...program.opts<Pick<Demand, "waiting" | "concurrency">>(),
  tasksPerSecond: given.tasks,
  inputBytes: given.input,
  resultBytes: given.result,
  serviceMs: given.service,
  resultTtlMs: given.resultTtl,
  tombstoneTtlMs: given.tombstoneTtl,
};
const costs = readCosts();
const needed = capacityOf(demand, costs);
const megabytes = (value: number) => `${(value / 1024 ** 2).toFixed(value < 100 * 1024 ** 2 ? 1 : 0)} MiB`;
const percent = (share: number) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} % of a core`;
const rows: readonly (readonly [string, string])[] = [
  ["waiting and running tasks", megabytes(needed.waitingBytes)],
  ["results, for RESULT_TTL", megabytes(needed.resultsBytes)],
  ["tombstones, for TOMBSTONE_TTL", megabytes(needed.tombstonesBytes)],
  ["maxmemory, with room to spare", megabytes(needed.totalBytes * MEMORY_MARGIN)],
  ["CPU of Redis", percent(needed.redisCore)],
  ["CPU of the API", percent(needed.apiCore)],
  [`tasks per second at ${USED.core * 100} % of Redis's core`, Math.floor(needed.maxPerSecond).toLocaleString("en")],
  [`slots, ${USED.slots * 100} % of them busy`, String(needed.slots)],
  ["worker processes", String(needed.workers)],
];
for (const [name, value] of rows) console.log(`${name.padEnd(40)} ${value.padStart(16)}`);
console.log(`\nfrom measurements of ${costs.date}, npm run bench -- memory levels`);

function refuse(expected: string): never {
  throw new InvalidArgumentError(`expected ${expected}.`);
}
