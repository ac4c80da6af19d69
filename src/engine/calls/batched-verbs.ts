import type { Metrics } from "../../metrics/metrics.ts";
import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { Attendance } from "../../store/verbs/attend.ts";
import type { Lease } from "../../store/verbs/lease.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";
import type { Retention } from "../../store/verbs/settle.ts";
import type { TickQueue } from "../../store/verbs/tick.ts";
import { groupAddress } from "../partitions/homes.ts";
import { Batch } from "./batch.ts";

/** Verbs on one task that do little more than call their script. The calls of one turn of the event loop are sent together. */
export type BatchedVerbs = ReturnType<typeof batchedVerbs>;

export function batchedVerbs(scripts: Scripts, keys: Keys, metrics: Metrics) {
  type Call<Item, Verdict> = (tag: string, items: readonly Item[]) => Promise<readonly Verdict[]>;
  const batched = <Item, Verdict>(call: Call<Item, Verdict>, work = 1) => {
    const send = (partition: number, items: readonly Item[]) => call(keys.tag(partition), items);
    const batch = new Batch<Item, Verdict>({ send, workOf: () => work });
    return (item: Item & { readonly queue: string }): Promise<Verdict> =>
      batch.add(keys.partitionOfQueue(item.queue), item);
  };
  const attend = batched(scripts.attend);
  return {
    /** A member of a group has the presence of that. */
    attend: (of: Attendance & { readonly group: string | null }) =>
      attend(of.group === null ? of : { ...of, id: groupAddress(of.group), deadlineMs: null }),
    begin: batched(scripts.begin),
    cancel: batched(scripts.cancel, SHARED.moveWork),
    lose: batched((tag, items: readonly (Lease & TickQueue)[]) => scripts.lose(tag, items), SHARED.moveWork),
    progress: batched(scripts.progress),
    release: batched(async (tag, items: readonly (Lease & Retention)[]) => {
      const verdicts = await scripts.release(tag, items);
      metrics.countEndings(items, verdicts);
      return verdicts;
    }, SHARED.moveWork),
    renew: batched(scripts.renew),
    retry: batched(scripts.retry, SHARED.moveWork),
  };
}
