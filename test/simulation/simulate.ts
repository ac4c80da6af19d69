import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { check } from "../chaos/history/check.ts";
import { type HistoryEntry, historyOf } from "../chaos/history/history.ts";
import { Callers } from "./callers.ts";
import { Faults } from "./faults.ts";
import { World } from "./world.ts";

/** The outcome of a simulation. */
export interface Outcome {
  /** How long it has lasted, virtual ms. */
  readonly virtualMs: number;
  readonly tasks: number;
  readonly faults: number;
  /** How many timers have fired. */
  readonly turns: number;
  /** The digest of everything that callers and handlers saw: the same for the same seed. */
  readonly digest: string;
  readonly broken: readonly string[];
}

/** After the last fault every task ends within this time, virtual ms. */
const SETTLE_MS = 900_000;
/** How often the store is verified, virtual ms. */
const CHECK_MS = 60_000;

/** Simulates a deployment under faults for a while, or until it breaks a promise. */
export async function simulate(seed: number, minutes: number, write?: (line: string) => void): Promise<Outcome> {
  const world = new World(seed, write);
  const { time, supervisor, history } = world;
  await world.start();
  const lastMs = minutes * 60_000;
  const callers = new Callers(world);
  const broken: string[] = [];
  const faults = new Faults(world);
  const work = async () => {
    await Promise.all([callers.work(lastMs), faults.strike(lastMs)]);
    broken.push(...(await world.leftovers()), ...brokenIn(history));
  };
  const watch = async () => {
    while (broken.length === 0) {
      await delay(CHECK_MS);
      broken.push(...(await world.disagreeing()));
    }
  };
  try {
    await time.until(
      time.in(supervisor, () => Promise.race([work(), watch()])),
      lastMs + SETTLE_MS,
    );
  } catch (error) {
    broken.push(`the simulation did not end: ${error}`, ...brokenIn(history));
  }
  const digest = createHash("sha1").update(JSON.stringify(history)).digest("hex").slice(0, 10);
  return {
    ...{ virtualMs: time.nowMs, tasks: callers.submitted, faults: faults.count, turns: time.turns, digest, broken },
  };
}

const brokenIn = (history: readonly HistoryEntry[]): string[] =>
  check(historyOf(history)).map(({ rule, violation }) => `${rule}: ${violation}`);
