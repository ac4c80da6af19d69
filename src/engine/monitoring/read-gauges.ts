import type { GaugeFigures, StoreNode } from "../../metrics/gauges.ts";
import type { Engine } from "../engine.ts";
import { slotsWanted } from "../estimates/slots-wanted.ts";

/** The sources of the gauges. */
export interface GaugeSources {
  readonly engine: Engine;
  /** Why the server is not ready; empty if it is. */
  readiness(): Promise<readonly string[]>;
  /** What the servers of the store report about themselves. */
  nodes(): Promise<readonly StoreNode[]>;
}

/** Reads the gauges. Never throws: one of them says that the store cannot be reached. */
export async function readGauges({ engine, readiness, nodes }: GaugeSources): Promise<GaugeFigures> {
  const [rows, reasons, storeNodes, incidents] = await Promise.all([
    engine.queues.allFigures().catch(() => null),
    readiness(),
    nodes().catch(() => []),
    engine.incidents.read().catch(() => []),
  ]);
  const queues = rows?.map((row) => {
    const { snapshot, dead, oldestWaitingMs, lateMs } = row;
    const { targetWaitMs, gated } = engine.queues.settings(snapshot.queue);
    const resting = gated ? snapshot.resting : null;
    return {
      ...snapshot,
      dead,
      oldestWaitingMs,
      lateMs,
      resting,
      orphaned: engine.queues.isOrphaned(row),
      slotsWanted: slotsWanted(row, targetWaitMs),
    };
  });
  const writable = rows !== null && engine.upkeep.refusals.size === 0;
  return { ready: reasons.length === 0, writable, queues: queues ?? null, nodes: storeNodes, incidents };
}
