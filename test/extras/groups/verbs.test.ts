import { expect } from "chai";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import * as GROUPS from "../../../src/extras/groups/verbs.ts";
import type { Notice } from "../../../src/store/task/notices.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { TASK } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

describe("a group", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { keyedConcurrency: 2 } });
  });
  afterEach(() => t.close());

  const open = async () => {
    const group = await groupsOf(t.engine).open({ id: null, caller: null, webhook: null }, t.settings);
    if (typeof group === "string") throw new Error(group);
    return group.id;
  };
  const read = async (group: string) => (await t.scripts.of(GROUPS).group(t.keys.tag(0), { items: [group] })).groups[0];

  it("has in a keyed line the turn of its last member: how many of its key must end first, and how many start before it", async () => {
    const group = await open();
    await t.submit({ key: "other" });
    for (const [line, id] of ["a", "b", "c", "d"].entries()) await t.submit({ id, key: "k", member: { group, line } });
    expect(await read(group)).to.deep.include({ index: 4, turn: { before: 3, ends: 2, limit: 2 } });
  });

  it("has when its latest running member began, and when its latest scheduled one is due", async () => {
    const group = await open();
    await t.submit({ id: "a", member: { group, line: 0 } });
    expect(await read(group)).to.include({ begunMs: null, dueMs: null });
    await t.reserve();
    const { startedMs } = await t.look("a");
    expect(await read(group)).to.include({ begunMs: startedMs, dueMs: null });
    await t.submit({ id: "b", delayMs: 60_000, member: { group, line: 1 } });
    const due = Number(await t.redis.zscore(t.key("scheduled"), "b"));
    expect(await read(group)).to.include({ begunMs: startedMs, dueMs: due });
  });

  it("tells those who listen to a member that it was canceled with the group", async () => {
    const group = await open();
    await t.submit({ id: "a", member: { group, line: 0 } });
    const heard: (Notice | null)[] = [];
    const listening = t.engine.notices.listen({ id: "a", queue: "jobs" }, (notice) => heard.push(notice));
    await listening.ready;
    await t.engine.inspector.inspect("a", { result: false, listen: true });
    expect(await t.scripts.of(GROUPS).cancelGroup(t.keys.tag(0), { id: group, max: 10 })).to.equal("canceled");
    await eventually(() => heard.length === 1);
    expect(heard[0]).to.deep.include({ id: "a", ended: true });
    listening.stop();
  });

  it("stops no tick by a member whose record is damaged", async () => {
    const group = await open();
    await t.submit({ id: "a", member: { group, line: 0 } });
    await t.reserve();
    await t.redis.hdel(t.key("task", "a"), TASK.state);
    await t.redis.zadd(t.key("leases"), "XX", 1, "a");
    await t.engine.upkeep.tick(0);
    expect(await t.redis.zscore(t.key("leases"), "a")).to.equal(null);
    expect((await read(group))?.counts).to.include({ waiting: 0, running: 1 });
  });
});
