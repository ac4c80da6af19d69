import type { Redis } from "ioredis";

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
  const entries = ((await redis.slowlog("GET", ENTRIES)) as Entry[]).toSorted(([a], [b]) => a - b);
  const slow: SlowScript[] = [];
  // The commands that a script calls are entered before it is.
  let pause: SlowScript["pause"] = null;
  for (const [, , micros, [command = "", called = ""]] of entries) {
    if (!/^fcall/i.test(command)) {
      if (pause === null || micros > pause.micros) pause = { command: command.toUpperCase(), micros };
      continue;
    }
    if (micros > SCRIPT_MICROS) slow.push({ name: called.replace(/_[0-9a-f]{8}$/, ""), micros, pause });
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
