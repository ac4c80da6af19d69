import type { Redis } from "ioredis";

/** Calls of a command, and the µs that Redis spent in them. */
export interface CommandCost {
  readonly calls: number;
  readonly micros: number;
}

/**
 * By the name of the command. Commands that a script calls are counted separately, and also within its `fcall` (of peers:
 * `evalsha`).
 */
export type CommandCosts = ReadonlyMap<string, CommandCost>;

const SCRIPTS: ReadonlySet<string> = new Set(["fcall", "eval", "evalsha"]);
/** Commands of the measurement itself. */
const OURS: ReadonlySet<string> = new Set(["info"]);

/** What `INFO commandstats` has counted so far. */
export async function commandCosts(redis: Redis): Promise<CommandCosts> {
  const costs = new Map<string, CommandCost>();
  for (const [, name = "", calls, micros] of (await redis.info("commandstats")).matchAll(
    /^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm,
  )) {
    if (!OURS.has(name)) costs.set(name, { calls: Number(calls), micros: Number(micros) });
  }
  return costs;
}

/** The CPU time of the thread that runs all commands so far, µs. Unlike the times above, it excludes waiting for a core. */
export async function mainThreadMicros(redis: Redis): Promise<number> {
  const lines = [...(await redis.info("cpu")).matchAll(/^used_cpu_(?:user|sys)_main_thread:(\S+)/gm)];
  return lines.reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0);
}

/** The commands and the time that some work took in Redis. */
export class ScriptCosts {
  readonly #commands = new Map<string, { calls: number; micros: number }>();
  #scriptMicros = 0;

  /** Adds what was counted between two readings. */
  add(before: CommandCosts, after: CommandCosts): void {
    for (const [name, { calls, micros }] of after) {
      const known = before.get(name);
      const more = { calls: calls - (known?.calls ?? 0), micros: micros - (known?.micros ?? 0) };
      if (more.calls === 0) continue;
      if (SCRIPTS.has(name)) {
        this.#scriptMicros += more.micros;
        continue;
      }
      const sum = this.#commands.get(name) ?? { calls: 0, micros: 0 };
      this.#commands.set(name, { calls: sum.calls + more.calls, micros: sum.micros + more.micros });
    }
  }

  /** µs of all scripts together. */
  get scriptMicros(): number {
    return this.#scriptMicros;
  }

  /** µs of the commands that they called. */
  get commandMicros(): number {
    return [...this.#commands.values()].reduce((sum, { micros }) => sum + micros, 0);
  }

  /** µs of the rest: Lua itself, and its calls of commands. */
  get luaMicros(): number {
    return this.#scriptMicros - this.commandMicros;
  }

  /** The commands, the most expensive first. */
  get commands(): readonly (CommandCost & { readonly name: string })[] {
    return [...this.#commands].map(([name, cost]) => ({ name, ...cost })).sort((a, b) => b.micros - a.micros);
  }
}
