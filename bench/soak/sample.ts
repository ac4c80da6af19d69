import { readdirSync, readFileSync } from "node:fs";
import { START } from "../../src/store/keys.ts";
import type { BenchStore } from "../harness/store.ts";
import type { Fleet } from "./fleet.ts";

/** What is measured again and again; names are for people. */
export type Sample = Readonly<Record<string, number>>;

/** The kinds of keys with their beginnings, the longest first. */
const KINDS = Object.entries(START).sort(([, a], [, b]) => b.length - a.length);
const MIB = 1024 ** 2;

/** How large the process that stays and the store are now. */
export async function takeSample(fleet: Fleet, store: BenchStore): Promise<Sample> {
  const { pid } = fleet.steady;
  const metrics = await (await fetch(`${fleet.url("steady")}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, "m").exec(metrics)?.[1]);
  return {
    "RSS, MiB": (Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024) / MIB,
    "heap, MiB": metric("nodejs_heap_size_used_bytes") / MIB,
    "open files": readdirSync(`/proc/${pid}/fd`).length,
    "memory of Redis, MiB": (await store.usedMemory()) / MIB,
    ...(await keysByKind(store)),
  };
}

async function keysByKind({ redis }: BenchStore): Promise<Sample> {
  const counts: Record<string, number> = {};
  for (let cursor = "0"; ; ) {
    const [next, keys] = await redis.scan(cursor, "COUNT", 1000);
    for (const key of keys) {
      const name = key.slice(key.indexOf("}") + 1);
      const kind = KINDS.find(([, start]) => name.startsWith(start))?.[0] ?? "other";
      counts[`keys: ${kind}`] = (counts[`keys: ${kind}`] ?? 0) + 1;
    }
    if (next === "0") return counts;
    cursor = next;
  }
}
