import type { Gauges, NodeMemory } from "../../metrics.ts";
import type { Engine } from "../engine.ts";
import { slotsWanted } from "../estimates/slots-wanted.ts";

/** What the gauges are read from. */
export interface GaugeSources {
  readonly engine: Engine;
  /** Why the server is not ready; empty if it is. */
  readiness(): Promise<readonly string[]>;
  /** The memory of the servers of the store. */
  memory(): Promise<readonly NodeMemory[]>;
}

/** Reads the gauges. Never throws: that the store cannot be reached is one of them. */
export async function readGauges({ engine, readiness, memory }: GaugeSources): Promise<Gauges> {
  const [rows, reasons, nodes] = await Promise.all([
    engine.figures([...engine.queues.keys()]).catch(() => null),
    readiness(),
    memory().catch(() => []),
  ]);
  const queues = rows?.map((row) => {
    const { snapshot, dead, oldestWaitingMs } = row;
    const { targetWaitMs, rests } = engine.settings(snapshot.queue);
    const resting = rests ? snapshot.resting : null;
    return { ...snapshot, dead, oldestWaitingMs, resting, slotsWanted: slotsWanted(row, targetWaitMs) };
  });
  return { ready: reasons.length === 0, queues: queues ?? null, memory: nodes };
}
