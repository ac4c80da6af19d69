import { readdirSync, readFileSync } from "node:fs";
import { START } from "../../../src/store/keys.ts";
import { World } from "../chaos/deployment.ts";
import { endure } from "../chaos/endure.ts";
import type { HistoryEntry } from "../history/history.ts";
import { optionsOf } from "../usage.ts";
import { Beside } from "./beside.ts";

const USAGE = `npm run soak -- [--hours H]

Chaos with a longer clock: tasks of all kinds, while processes are killed and redeployed. Measured is the one process, with both roles, that
stays, and the store: memory, open files, keys and latency in the last quarter of the time are compared with the first one. Fails if
something has grown, or a promise is broken.

  --hours H   1 by default`;

const HOUR_MS = 3_600_000;
const MIB = 1024 ** 2;
/** Until then as many records leave the store as come, and the code is compiled, ms. */
const WARM_UP_MS = 300_000;
/** Results and records leave the store soon, so that it reaches its usual size within that time. */
const ENV = { RESULT_TTL: "2m", TOMBSTONE_TTL: "2m", DEAD_TTL: "2m", WEBHOOK_ALLOW: "127.0.0.1" };
const PACE = { everyMs: 200, secondMs: 50, most: 64 };
/** By how much a figure of the last quarter may exceed that of the first one: as a share, and as a number. */
const ALLOWED = { share: 1.25, more: 10 };
/** Latencies depend on whatever else the machine does: they must not grow without bound, ms. */
const ALLOWED_LATENCY = { share: 2, more: 100 };
const P99 = "synchronous call, p99, ms";

/** What was measured after a round; names are for people. */
type Sample = Readonly<Record<string, number>>;

/** How large the process that stays and the store are now. */
async function takeSample({ steady, admin }: World, history: readonly HistoryEntry[]): Promise<Sample> {
  if (!steady) throw new Error("there is no process that stays");
  const metrics = await (await fetch(`${steady.url}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, "m").exec(metrics)?.[1]);
  const latencies = history
    .flatMap((entry) => (entry.type === "call" && entry.kind === "submit" && entry.answer === "200" ? [entry] : []))
    .map(({ invokedAt, returnedAt }) => returnedAt - invokedAt)
    .sort((a, b) => a - b);
  const counts: Record<string, number> = {};
  // The kinds of keys with their beginnings, the longest first.
  const kinds = Object.entries(START).sort(([, a], [, b]) => b.length - a.length);
  for (const key of await admin.keys("*")) {
    const name = key.slice(key.indexOf("}") + 1);
    const kind = `keys: ${kinds.find(([, start]) => name.startsWith(start))?.[0] ?? "other"}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return {
    "RSS, MiB": Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${steady.pid}/status`, "utf8"))?.[1]) / 1024,
    "heap, MiB": metric("nodejs_heap_size_used_bytes") / MIB,
    "open files": readdirSync(`/proc/${steady.pid}/fd`).length,
    "memory of Redis, MiB": Number(/^used_memory:(\d+)/m.exec(await admin.info("memory"))?.[1]) / MIB,
    ...counts,
    [P99]: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
  };
}

/** Compares the last quarter of a run with the first one; prints all figures, and returns those that have grown. */
function compareQuarters(samples: readonly Sample[]): string[] {
  const length = Math.max(1, Math.floor(samples.length / 4));
  const names = [...new Set(samples.flatMap((sample) => Object.keys(sample)))];
  return names.filter((name) => {
    const usual = (some: readonly Sample[]) => {
      const values = some.map((sample) => sample[name] ?? 0).sort((a, b) => a - b);
      // The heap swings between two collections: what counts is how much stays after one.
      return values[name.startsWith("heap") ? 0 : values.length >> 1] ?? 0;
    };
    const [first, last] = [usual(samples.slice(0, length)), usual(samples.slice(-length))];
    const { share, more } = name === P99 ? ALLOWED_LATENCY : ALLOWED;
    const atMost = first * share + more;
    console.log(`${name}: ${first.toFixed(1)}, then ${last.toFixed(1)}; at most ${atMost.toFixed(1)}`);
    return last > atMost;
  });
}

const hours = Number(optionsOf(USAGE, { hours: { type: "string", default: "1" } }).hours);
if (!(hours > 0)) throw new Error("--hours must be a positive number");
const world = await World.start({ env: ENV, steady: true });
try {
  const beside = new Beside(world.steady?.url ?? "");
  const samples: Sample[] = [];
  const begun = performance.now();
  const left = () => begun + WARM_UP_MS + hours * HOUR_MS - performance.now();
  let [accepted, rounds] = [0, 0];
  for (; left() > 0 || samples.length < 2; rounds += 1) {
    const fault = rounds % 2 === 0 ? "crash" : "redeployment";
    const round = await endure(world, [fault], { pace: PACE, chance: Math.random, beside });
    accepted += round.accepted;
    const sample = await takeSample(world, round.history);
    if (left() < hours * HOUR_MS) samples.push(sample);
    const of = (name: string) => Math.round(sample[name] ?? 0);
    console.log(`${rounds}: RSS ${of("RSS, MiB")} MiB, heap ${of("heap, MiB")} MiB, ${of("keys: task")} records`);
  }
  const { failed, leftOut } = beside.missed;
  console.log(
    `${hours} h, ${accepted} tasks and ${beside.submitted} beside, ${beside.hooks} webhooks, ${rounds} faults`,
  );
  const grown = compareQuarters(samples);
  if (failed + leftOut > 0) grown.push(`${failed} calls without an answer, ${leftOut} left out`);
  console.log(grown.length === 0 ? "nothing has grown" : `grown: ${grown.join("; ")}`);
  process.exitCode = grown.length === 0 ? 0 : 1;
} finally {
  await world.stop();
}
