import { Redis } from "ioredis";
import { startRedis } from "../../test/shared/redis-server.ts";
import { cpuSecondsOf } from "./process.ts";

/** The benchmark's own Redis. */
export interface BenchStore {
  readonly url: string;
  readonly port: number;
  /** Its persistence mode, for the table. */
  readonly mode: StoreMode;
  /** A connection for the benchmark itself. */
  readonly redis: Redis;
  cpuSeconds(): number;
  /** Bytes that the data takes, as Redis counts them. */
  usedMemory(): Promise<number>;
  /** Commands so far, including those that scripts called. */
  commands(): Promise<number>;
  /** Calls and µs of a command so far; of all scripts for `fcall`. */
  command(name: string): Promise<{ calls: number; micros: number }>;
  /** Empties it, so that both peers begin each turn with nothing. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

/** The persistence modes with which every figure is measured. */
const STORE_MODES = ["no persistence", "AOF everysec"] as const;
export type StoreMode = (typeof STORE_MODES)[number];

/** Starts a redis-server for one benchmark. */
export async function openStore(mode: StoreMode): Promise<BenchStore> {
  const aof = mode === "AOF everysec";
  // The file must not be rewritten during a turn, which would affect only one peer.
  const args = aof ? ["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"] : [];
  const server = await startRedis({ args });
  const redis = new Redis(server.url);
  const info = async (section: string, field: RegExp) => field.exec(await redis.info(section));
  return {
    url: server.url,
    port: server.port,
    mode,
    redis,
    cpuSeconds: () => cpuSecondsOf(server.pid),
    usedMemory: async () => Number((await info("memory", /^used_memory:(\d+)/m))?.[1]),
    commands: async () => Number((await info("stats", /^total_commands_processed:(\d+)/m))?.[1]),
    async command(name) {
      const match = await info("commandstats", new RegExp(`^cmdstat_${name}:calls=(\\d+),usec=(\\d+)`, "m"));
      return { calls: Number(match?.[1] ?? 0), micros: Number(match?.[2] ?? 0) };
    },
    clear: async () => {
      await redis.flushall("SYNC");
    },
    async stop() {
      redis.disconnect();
      await server.stop("SIGKILL");
    },
  };
}

/** Runs a benchmark with its own store. */
export async function withStore<T>(mode: StoreMode, work: (store: BenchStore) => Promise<T>): Promise<T> {
  const store = await openStore(mode);
  try {
    return await work(store);
  } finally {
    await store.stop();
  }
}

/** Runs a benchmark once for each persistence mode. */
export async function withEachStore<T>(work: (store: BenchStore) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (const mode of STORE_MODES) results.push(await withStore(mode, work));
  return results;
}
