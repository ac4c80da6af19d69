import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import path from "node:path";
import type { Redis } from "ioredis";
import { built } from "./built.ts";

/** From how many µs on a script counts as slow. */
const SCRIPT_MICROS = 5000;
/** From how many µs on a single command is told: what a script calls takes a few, so that the machine stood still in it. */
const PAUSE_MICROS = 1000;
/** More entries than a benchmark leaves. */
const ENTRIES = 10_000;

/** What SLOWLOG has of a slow script. */
export interface SlowScript {
  readonly name: string;
  readonly micros: number;
  /** The longest command within it that has a line of its own, and how long that took; null for none. */
  readonly pause: { readonly command: string; readonly micros: number } | null;
}

type Entry = [id: number, at: number, micros: number, args: string[]];

/** Has Redis keep what is needed to tell a slow script from one in which the machine stood still. */
export async function watchSlowlog(redis: Redis): Promise<void> {
  await redis.config("SET", "slowlog-max-len", ENTRIES);
  await redis.config("SET", "slowlog-log-slower-than", PAUSE_MICROS);
  await redis.slowlog("RESET");
}

/** The scripts that took longer than 5 ms since then, the first of them first. */
export async function slowScripts(redis: Redis): Promise<SlowScript[]> {
  const names = await scriptNames();
  const entries = ((await redis.slowlog("GET", ENTRIES)) as Entry[]).toSorted(([a], [b]) => a - b);
  const slow: SlowScript[] = [];
  // The commands that a script calls are entered before it is.
  let pause: SlowScript["pause"] = null;
  for (const [, , micros, [command = "", sha = ""]] of entries) {
    if (!/^eval/i.test(command)) {
      if (pause === null || micros > pause.micros) pause = { command: command.toUpperCase(), micros };
      continue;
    }
    if (micros > SCRIPT_MICROS) slow.push({ name: names.get(sha) ?? command, micros, pause });
    pause = null;
  }
  return slow;
}

/** E.g. "submit 5.9 ms, 5.4 of them in one HSET". */
export function slowWords({ name, micros, pause }: SlowScript): string {
  const ms = (value: number) => (value / 1000).toFixed(1);
  return `${name} ${ms(micros)} ms${pause ? `, ${ms(pause.micros)} of them in one ${pause.command}` : ""}`;
}

/** Whether it would have been slow had no single command of it been held up. */
export function isSlowItself({ micros, pause }: SlowScript): boolean {
  return micros - (pause?.micros ?? 0) > SCRIPT_MICROS;
}

/** The scripts' names by their digests. */
async function scriptNames(): Promise<ReadonlyMap<string, string>> {
  const { luaSource } =
    await built<typeof import("../../src/store/scripts/lua-source.ts")>("store/scripts/lua-source.js");
  const files = readdirSync(path.resolve(import.meta.dirname, "../../dist/store/scripts/lua"));
  const names = files.flatMap((file) => (file.endsWith(".lua") ? [file.slice(0, -4)] : []));
  return new Map(names.map((name) => [createHash("sha1").update(luaSource(name)).digest("hex"), name]));
}
