import { expect } from "chai";
import { Notices } from "../../../src/engine/watch/notices.ts";
import { Watchers } from "../../../src/engine/watch/watchers.ts";
import { watchedGroups } from "../../../src/extras/groups/group-events.ts";
import type { GroupInspection } from "../../../src/extras/groups/group-inspection.ts";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import type { PubSub } from "../../../src/store/pubsub.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

const SLOW = { passMs: 600_000 };

describe("watching groups", () => {
  let t: TestEngine;
  let looks: number;
  let engine: Parameters<typeof watchedGroups>[0];
  let looked: Parameters<typeof watchedGroups>[1];
  let told: (GroupInspection | null)[];
  beforeEach(async () => {
    t = await openEngine();
    looks = 0;
    told = [];
    engine = t.engine;
    const groups = groupsOf(t.engine);
    looked = {
      inspect: (id, options) => {
        looks += 1;
        return groups.inspect(id, options);
      },
      attend: (seen) => groups.attend(seen),
    };
    const group = await groups.open({ id: "g", caller: null, webhook: null }, t.settings);
    if (typeof group === "string") throw new Error(group);
    await join(0, 20);
    await group.endBatch({ lines: 20, closes: true });
  });
  afterEach(() => t.close());

  const join = (from: number, to: number) => {
    const lines = Array.from({ length: to - from }, (_, n) => from + n);
    const members = lines.map((line) =>
      submissionOf(`t${line}`, "jobs", `{"n":${line}}`, { member: { group: "g", line } }),
    );
    return t.engine.submitter.submitAll(members, t.settings);
  };
  const endSome = async (count: number) => {
    for (const { id, fence } of await t.reserve(count))
      await t.engine.leases.complete({ queue: "jobs", id, fence }, resultOf("ok"), t.settings);
  };
  const watch = async (watchers: Watchers<GroupInspection>) => {
    const watched = await watchers.watch({ id: "g", queue: "jobs" });
    void (async () => {
      while (await watched.next()) told.push(watched.seen);
    })();
    return watched;
  };

  it("reports the end of a member at once, although passes are slow", async () => {
    const { seen, stop } = await watch(new Watchers(watchedGroups(engine, looked), SLOW));
    expect(seen?.counts).to.include({ waiting: 20 });
    await endSome(1);
    await eventually(() => told.some((seen) => seen?.counts.succeeded === 1));
    stop();
  });

  it("reads a group once for many changes, and at once when the last member has ended", async () => {
    const restMs = 600_000;
    const { stop } = await watch(new Watchers({ ...watchedGroups(engine, looked), restMs }, SLOW));
    await endSome(1);
    await eventually(() => told.length > 0);
    looks = 0;
    await endSome(18);
    expect(looks).to.equal(0);
    await endSome(1);
    await eventually(() => told.at(-1)?.state === "done");
    expect(looks).to.equal(1);
    stop();
  });

  it("notices changes without messages", async () => {
    const deaf = { listen: async () => () => undefined } as unknown as PubSub;
    const of = watchedGroups({ queues: engine.queues, notices: new Notices(deaf, t.keys) }, looked);
    const { stop } = await watch(new Watchers(of, { passMs: 20 }));
    await endSome(20);
    await eventually(() => told.at(-1)?.state === "done");
    stop();
  });
});
