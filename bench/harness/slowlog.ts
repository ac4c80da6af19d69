import type { Redis } from "ioredis";

/** How many µs make a script slow. */
const SCRIPT_MICROS = 5000;
/** How many µs make a single command count as a pause of the machine: a script's commands take a few. */
const PAUSE_MICROS = 1000;
/** More entries than a benchmark produces. */
const ENTRIES = 10_000;

/** A slow script in SLOWLOG. */
export interface SlowScript {
  readonly name: string;
  readonly micros: number;
  /** The longest command within it that has its own entry, and how long that took; null if there is none. */
  readonly pause: { readonly command: string; readonly micros: number } | null;
}

type SlowlogEntry = [id: number, at: number, micros: number, args: string[]];

/** Makes Redis record what tells a slow script from a pause of the machine. */
export async function watchSlowlog(redis: Redis): Promise<void> {
  await redis.config("SET", "slowlog-max-len", ENTRIES);
  await redis.config("SET", "slowlog-log-slower-than", PAUSE_MICROS);
  await redis.slowlog("RESET");
}

/** The scripts that took longer than 5 ms since then, in order. */
export async function slowScripts(redis: Redis): Promise<SlowScript[]> {
  const entries = ((await redis.slowlog("GET", ENTRIES)) as SlowlogEntry[]).toSorted(([a], [b]) => a - b);
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

/** Whether it is slow even without its longest command. */
export function isSlowItself({ micros, pause }: SlowScript): boolean {
  return micros - (pause?.micros ?? 0) > SCRIPT_MICROS;
}
