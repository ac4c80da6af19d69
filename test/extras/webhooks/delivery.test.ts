import { expect } from "chai";
import { giveUp } from "../../../src/handler/intents.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { type Deliveries, openDeliveries } from "./deliveries.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

describe("the delivery of webhooks", () => {
  let receiver: Receiver;
  let t: Deliveries;
  const open = async (parts: Parameters<typeof openDeliveries>[1] = {}) => {
    t = await openDeliveries((input: { fail?: string }) => {
      if (input.fail === "give up") throw giveUp({ status: 422, title: "No", detail: "no car" });
      if (input.fail) throw new Error(input.fail);
      return { sum: 3 };
    }, parts);
  };
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await t.close();
    await receiver.close();
  });

  it("reports failures, including dead tasks, with the error and the problem", async () => {
    await open();
    await t.submit("b", receiver.url, { fail: "give up" });
    await t.submit("c", receiver.url, { fail: "secret" });
    const events = await receiver.count(2);
    for (const { json } of events) expect(json).to.have.property("type", "task.failed");
    const [gaveUp, dead] = ["b", "c"].map((id) => events.find(({ json }) => json.data.id === id)?.json.data);
    expect(gaveUp.error).to.deep.equal({ code: "task-failed", message: "no car" });
    expect(gaveUp.result).to.include({ status: 422, detail: "no car" });
    expect(dead.error.code).to.equal("task-failed");
    expect(JSON.stringify(dead)).not.to.include("secret");
  });

  it("reports a retried task that died again as another event", async () => {
    await open();
    await t.submit("d", receiver.url, { fail: "again" });
    await receiver.count(1);
    expect(await t.engine.call("retry", { id: "d", queue: "jobs" })).to.equal("waiting");
    const [first, second] = await receiver.count(2);
    expect(second?.json.type).to.equal("task.failed");
    expect(second?.headers["webhook-id"]).not.to.equal(first?.headers["webhook-id"]);
  });

  it("reports the result even if it expires before the receiver accepts the event", async () => {
    await open({ resultTtl: 1000, pauseMs: () => 100 });
    receiver.answers(() => 503);
    await t.submit("late", receiver.url);
    await receiver.count(1);
    await eventually(async () => (await t.engine.inspector.inspect("late", { result: true }))?.expired === true);
    receiver.answers(() => 204);
    await t.until(await t.follower("late"), "succeeded");
    const told = receiver.received.map(({ body }) => body);
    expect(told.at(-1)).to.include('"result":{"sum":3}');
    expect(new Set(told).size, "different events under one webhook-id").to.equal(1);
  });

  it("has its body built for each attempt: a result deleted meanwhile is not in it, and no copy is stored", async () => {
    await open();
    receiver.answers(() => 503);
    await t.submit("i", receiver.url);
    await receiver.count(1);
    const follower = await t.follower("i");
    expect(
      await t.redis.exists(storedKey(t.engine.keys.tag(0), "steps", follower)),
      "what is kept of an attempt",
    ).to.equal(0);
    // No attempt is underway that was made before the result goes.
    await t.engine.queues.pause("paihao.webhooks", true);
    await eventually(async () => (await t.engine.inspector.inspect(follower, { result: false }))?.state !== "running");
    await t.engine.call("cancel", { id: "i", queue: "jobs" });
    const before = receiver.received.length;
    receiver.answers(() => 200);
    await t.engine.queues.pause("paihao.webhooks", false);
    const event = (await receiver.count(before + 1)).at(-1);
    expect(event?.json).to.have.property("type", "task.succeeded");
    expect(event?.json.data).to.include({ id: "i", state: "succeeded" }).and.not.have.property("result");
    // That its result was deleted is no further end.
    await t.until(follower, "succeeded");
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"]))).to.have.property("size", 1);
  });

  it("is a dead letter after its last attempt, which says why and can be sent again", async () => {
    await open({ attempts: 2 });
    receiver.answers(() => 500);
    await t.submit("k", receiver.url);
    const follower = await t.follower("k");
    await t.until(follower, "failed");
    expect(receiver.received).to.have.length(2);
    const seen = await t.engine.inspector.inspect(follower, { result: true });
    expect(seen?.errors).to.deep.equal(["the receiver answered 500", "the receiver answered 500"]);
    receiver.answers(() => 200);
    expect(await t.engine.call("retry", { id: follower, queue: "jobs" })).to.equal("waiting");
    await t.until(follower, "succeeded");
    const [first, , last] = receiver.received;
    expect(last?.headers["webhook-id"]).to.equal(first?.headers["webhook-id"]);
    expect(last?.json.timestamp).to.equal(first?.json.timestamp);
  });

  it("fails if the receiver exceeds the timeout, or its address is refused", async () => {
    await open({ attempts: 1, timeoutMs: 50 });
    receiver.answers(() => undefined);
    await t.submit("n", receiver.url);
    await t.submit("o", "http://10.0.0.1/");
    const [slow, refused] = await Promise.all(
      ["n", "o"].map(async (id) => {
        const follower = await t.follower(id);
        await t.until(follower, "failed");
        return (await t.engine.inspector.inspect(follower, { result: true }))?.errors[0];
      }),
    );
    expect(slow).to.match(/did not answer within 50 ms/);
    expect(refused).to.match(/refused: 10\.0\.0\.1 is not a public address/);
  });
});
