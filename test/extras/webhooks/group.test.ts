import { expect } from "chai";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import { SUBMIT_DEFAULTS } from "../../../src/wire/submission.ts";
import { eventually } from "../../shared/eventually.ts";
import { type Deliveries, openDeliveries } from "./deliveries.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

describe("the webhook of a group", () => {
  let receiver: Receiver;
  let t: Deliveries;
  beforeEach(async () => {
    receiver = await startReceiver();
    t = await openDeliveries(() => "ok");
  });
  afterEach(async () => {
    await t.close();
    await receiver.close();
  });

  /** Opens a group with tasks that run at once. */
  const open = async (id: string, tasks: number) => {
    const settings = t.engine.queues.settings("jobs");
    const group = await groupsOf(t.engine).open({ id, caller: null, webhook: receiver.url }, settings);
    if (typeof group === "string") throw new Error(group);
    for (let line = 0; line < tasks; line += 1) {
      const task = { id: `${id}${line}`, queue: "jobs", input: "1", mediaType: "application/json", caller: null };
      const submission = { ...task, options: SUBMIT_DEFAULTS, member: { group: id, line } };
      expect((await t.engine.submitter.submit(submission, settings)).verdict).to.equal("new");
    }
    return group;
  };

  it("is one for all its tasks", async () => {
    const group = await open("g", 3);
    await group.endBatch({ lines: 0, closes: true });
    const [event] = await receiver.count(1);
    expect(event?.json.type).to.equal("group.done");
    expect(event?.json.data).to.include({ id: "g", state: "done", total: 3, succeeded: 3 });
    expect(event?.json.timestamp).to.equal(event?.json.data.finishedAt);
    const queue = async () => (await t.engine.queues.figures(["paihao.webhooks"]))[0];
    await eventually(async () => (await queue())?.snapshot.running === 0);
    expect(receiver.received).to.have.length(1);
  });

  it("is that of a canceled one, too", async () => {
    await open("c", 1);
    await groupsOf(t.engine).cancel("c", "jobs");
    const [event] = await receiver.count(1);
    expect(event?.json).to.deep.include({ type: "group.canceled" });
    expect(event?.json.data).to.include({ id: "c", state: "canceled", cancelRequested: true });
  });
});
