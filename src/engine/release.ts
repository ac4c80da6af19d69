import type { Lease, Retention } from "../store/scripts/scripts.ts";
import { Batch } from "./batch.ts";
import type { EndingParts } from "./complete.ts";

export type ReleaseVerdict = "released" | "canceled" | "stale";

/** Hands tasks back. Those of one turn of the event loop travel together. */
export function releases({ scripts, keys, metrics }: EndingParts): Batch<Lease & Retention, ReleaseVerdict> {
  return new Batch({
    send: async (partition, items) => {
      const verdicts = await scripts.release(keys.tag(partition), items);
      metrics.countEndings(items, verdicts);
      return verdicts;
    },
  });
}
