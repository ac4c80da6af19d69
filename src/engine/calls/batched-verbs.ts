import type { Metrics } from "../../metrics/metrics.ts";
import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { Attendance, Lease, Retention, Scripts, TickQueue } from "../../store/verbs/scripts.ts";
import { groupAddress, type Homes } from "../partitions/homes.ts";
import { DEAD_CAP } from "../settings.ts";
import { Batch } from "./batch.ts";

/** Verbs on one task that do little more than call their script. The calls of one turn of the event loop are sent together. */
export type BatchedVerbs = ReturnType<typeof batchedVerbs>;

export function batchedVerbs(scripts: Scripts, keys: Keys, homes: Homes, metrics: Metrics) {
  type Call<Item, Verdict> = (tag: string, items: readonly Item[]) => Promise<readonly Verdict[]>;
  const batched = <Item extends { readonly id: string }, Verdict>(
    call: Call<Item, Verdict>,
    isAbsent: (verdict: Verdict) => boolean = isStale,
    work = 1,
  ) => {
    const send = (partition: number, items: readonly Item[]) => call(keys.tag(partition), items);
    const batch = new Batch<Item, Verdict>({ send, workOf: () => work });
    return (item: Item): Promise<Verdict> => homes.at(item.id, (partition) => batch.add(partition, item), isAbsent);
  };
  const isUnknown = (verdict: string) => verdict === "unknown";
  const attend = batched(scripts.attend, isUnknown);
  return {
    /** A member of a group has the presence of that. */
    attend: (of: Attendance & { readonly group: string | null }) =>
      attend(of.group === null ? of : { ...of, id: groupAddress(of.group), deadlineMs: null }),
    begin: batched(scripts.begin),
    cancel: batched(scripts.cancel, isUnknown, SHARED.moveWork),
    lose: batched(
      (tag, items: readonly (Lease & TickQueue)[]) => scripts.lose(tag, items, DEAD_CAP),
      isStale,
      SHARED.moveWork,
    ),
    progress: batched(scripts.progress),
    release: batched(
      async (tag, items: readonly (Lease & Retention)[]) => {
        const verdicts = await scripts.release(tag, items);
        metrics.countEndings(items, verdicts);
        return verdicts;
      },
      isStale,
      SHARED.moveWork,
    ),
    renew: batched(scripts.renew, ({ verdict }) => isStale(verdict)),
    retry: batched(scripts.retry, isUnknown, SHARED.moveWork),
  };
}

const isStale = (verdict: unknown): boolean => verdict === "stale";
