import { setTimeout as delay } from "node:timers/promises";
import type { FaultOf } from "../faults.ts";
import type { Machine, World } from "./deployment.ts";

/** Mean time between two faults, ms. */
const PAUSE_MS = 9000;
/** How far the store's clock is set forward at most, ms. */
const LONGEST_STEP_MS = 3_600_000;

/** How a fault strikes a process or the store. Each resolves when a process that it has ended is started again. */
const FAULTS: Readonly<Record<FaultOf<"simulation">, (world: World, machine: Machine) => Promise<unknown>>> = {
  crash: async ({ chance }, machine) => {
    machine.kill();
    await delay(chance() * 10_000);
    machine.start();
  },
  redeployment: async (_, machine) => {
    await machine.stop();
    machine.start();
  },
  pause: async ({ time, chance }, { process }) => time.pause(process, chance() ** 2 * 20_000),
  "pause of the store": async ({ time, chance, store }) => time.pause(store.process, chance() ** 2 * 8000),
  "cut connections": async ({ network, chance }, { process }) => network.cut(process, chance()),
  "silent connections": async ({ network, chance }, { process }) => network.silence(process, chance()),
  isolation: async ({ network, chance }, { process }) => network.isolate(process, chance() * 15_000),
  "step of the store's clock": async ({ store, chance }) => {
    store.aheadMs += Math.round(LONGEST_STEP_MS ** chance());
  },
  "lost functions": (world) => world.observe(({ redis }) => redis.function("FLUSH")),
};
const NAMES = Object.keys(FAULTS) as FaultOf<"simulation">[];

/** Causes faults until a virtual time, then ends them all; resolves to their number. */
export async function strike(world: World, untilMs: number): Promise<number> {
  const { time, chance, machines, log } = world;
  const underway: unknown[] = [];
  for (;;) {
    await delay(-Math.log(1 - chance()) * PAUSE_MS);
    if (time.nowMs >= untilMs) break;
    const name = NAMES[Math.floor(chance() * NAMES.length)] ?? "crash";
    const machine = machines[Math.floor(chance() * machines.length)];
    // A process that is down must start before it gets another fault.
    if (!machine?.engine) continue;
    log.info({ of: machine.process.name }, `FAULT: ${name}`);
    underway.push(FAULTS[name](world, machine));
  }
  await Promise.all(underway);
  return underway.length;
}
