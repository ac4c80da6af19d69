import { expect } from "chai";
import { Watchers } from "../../../src/engine/watch/watchers.ts";
import { watchedGroups } from "../../../src/extras/groups/group-events.ts";
import type { GroupInspection } from "../../../src/extras/groups/group-inspection.ts";
import { groupResults } from "../../../src/extras/groups/group-results.ts";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import type { Api } from "../../../src/http/api.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { verdictsOf } from "../../helpers/http/batch.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

describe("the results of a group that are followed", () => {
  let t: TestEngine;
  let watchers: Watchers<GroupInspection>;
  let left: AbortController;
  beforeEach(async () => {
    t = await openEngine();
    // Without passes and repeated reads.
    watchers = new Watchers(watchedGroups(t.engine, groupsOf(t.engine)), { passMs: 600_000 });
    left = new AbortController();
    const group = await groupsOf(t.engine).open({ id: "g", caller: null, webhook: null }, t.settings);
    if (typeof group === "string") throw new Error(group);
    const members = [0, 1, 2].map((line) => submissionOf(`t${line}`, "jobs", "1", { member: { group: "g", line } }));
    await t.engine.submitter.submitAll(members, t.settings);
    await group.endBatch({ lines: 3, closes: true });
  });
  afterEach(() => t.close());

  const endOne = async () => {
    for (const { id, fence } of await t.reserve(1))
      await t.engine.leases.complete({ queue: "jobs", id, fence }, resultOf("ok"), t.settings);
  };
  const seen = async () => {
    const group = await groupsOf(t.engine).inspect("g");
    if (group === null) throw new Error("the group is gone");
    return group;
  };
  const follow = async () => {
    const api = { engine: t.engine } as unknown as Api;
    return groupResults({ ctx: { state: {} }, api, group: await seen(), after: 0, watchers, gone: left.signal });
  };
  const linesOf = ({ value }: IteratorResult<string, void>) => verdictsOf(value ?? "").map(({ line }) => line);

  it("end with the group, although it ended while the first ones were read", async () => {
    await endOne();
    const lines = await follow();
    expect(linesOf(await lines.next())).to.deep.equal([0]);
    await endOne();
    await endOne();
    expect(linesOf(await lines.next())).to.deep.equal([1, 2]);
    expect((await lines.next()).done).to.equal(true);
  });

  it("end with the group, although it ended before their reader came for more", async () => {
    await endOne();
    const lines = await follow();
    expect(linesOf(await lines.next())).to.deep.equal([0]);
    await endOne();
    expect(linesOf(await lines.next())).to.deep.equal([1]);
    const watch = await watchers.watch(await seen());
    await endOne();
    await watch.next();
    watch.stop();
    expect(linesOf(await lines.next())).to.deep.equal([2]);
    expect((await lines.next()).done).to.equal(true);
    expect(watchers.size).to.equal(0);
  });

  it("end when their reader leaves while they are read", async () => {
    await endOne();
    const lines = await follow();
    await lines.next();
    const rest = lines.next();
    await eventually(() => watchers.size === 1);
    left.abort();
    expect((await rest).done).to.equal(true);
    expect(watchers.size).to.equal(0);
  });
});
