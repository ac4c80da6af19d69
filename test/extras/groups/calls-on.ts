import { verify } from "../../../src/engine/upkeep/verify.ts";
import type { GroupInspection } from "../../../src/extras/groups/group-inspection.ts";
import { type BatchGroup, groupsOf } from "../../../src/extras/groups/groups.ts";
import { failureOf, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { submissionOf } from "../../shared/submission.ts";

/** Closes a group. */
export const close = (group: BatchGroup) => group.endBatch({ lines: 0, closes: true });
/** So many of its members, in the order in which they joined. */
export const fromStart = (count: number) => ({ by: "line", from: 0, count }) as const;

/** The groups of an engine. */
export function callsOn(t: TestEngine) {
  const look = async ({ id }: Pick<BatchGroup, "id">): Promise<GroupInspection> => {
    const seen = await groupsOf(t.engine).inspect(id);
    if (!seen) throw new Error(`${id} is unknown`);
    return seen;
  };
  const take = async () => {
    const [task] = await t.reserve();
    if (!task) throw new Error("nothing to take");
    return { queue: "jobs", id: task.id, fence: task.fence };
  };
  return {
    look,
    take,
    open: async (id: string | null = null, webhook: string | null = null): Promise<BatchGroup> => {
      const opened = await groupsOf(t.engine).open({ id, caller: null, webhook }, t.settings);
      if (typeof opened === "string") throw new Error(opened);
      return opened;
    },
    join: async ({ id: group }: Pick<BatchGroup, "id">, ...ids: readonly string[]) => {
      const submissions = ids.map((id, line) => submissionOf(id, "jobs", '{"n":1}', { member: { group, line } }));
      const ends = await t.engine.submitter.submitAll(submissions, t.settings);
      return ends.map((end) => (end.status === "fulfilled" ? end.value.verdict : String(end.reason)));
    },
    countsOf: async (group: Pick<BatchGroup, "id">) =>
      Object.fromEntries(Object.entries((await look(group)).counts).filter(([, count]) => count > 0)),
    complete: async () => t.engine.leases.complete(await take(), resultOf("ok"), t.settings),
    fail: async (kind: "retry" | "later" | "give-up", attempts: number, delayMs = 0) =>
      t.engine.leases.fail(await take(), failureOf(kind, delayMs), { ...t.settings, attempts }),
    /** The ids that verify reports. */
    verified: async (heal = false) => (await verify(t.redis, t.scripts, t.keys, { heal })).disagreeing,
  };
}
