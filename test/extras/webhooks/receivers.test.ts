import { expect } from "chai";
import { Engine } from "../../../src/engine/engine.ts";
import { RECEIVER_LIMITS, Receivers } from "../../../src/extras/webhooks/receivers.ts";
import { INTERNAL_QUEUES } from "../../../src/handler/internal-queues.ts";
import { AddressGuard, parseAllowList } from "../../../src/net/ssrf-guard.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";
import { type Deliveries, openDeliveries } from "./deliveries.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const { maxOfOne, maxOfSlow, slowMs, longestPauseMs } = RECEIVER_LIMITS;

describe("hanging receivers", () => {
  const guard = new AddressGuard(parseAllowList(["127.0.0.0/8"]));
  const receivers: Receiver[] = [];
  let t: Deliveries;
  beforeEach(async () => {
    t = await openDeliveries(() => "done", { guard });
  });
  afterEach(async () => {
    await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
    await t.close();
  });
  const start = async (...given: Parameters<typeof startReceiver>) => {
    const receiver = await startReceiver(...given);
    receivers.push(receiver);
    return receiver;
  };
  const hang = () => undefined;

  it("do not delay others, and get only a few deliveries at a time", async () => {
    const hanging = await start(hang);
    const good = await start(undefined, "127.0.0.2");
    for (let n = 0; n < 200; n += 1) await t.submit(`hanging-${n}`, hanging.url);
    await hanging.count(maxOfOne);
    await t.submit("good", good.url);
    await good.count(1);
    expect(hanging.received).to.have.length(maxOfOne);
  });

  it("do not delay receivers that have answered before, however many they are", async () => {
    const good = await start(undefined, "127.0.0.2");
    await t.submit("before", good.url);
    await good.count(1);
    const hosts = Array.from({ length: 40 }, (_, n) => `127.0.1.${n + 1}`);
    const hanging = await Promise.all(hosts.map((host) => start(hang, host)));
    for (const [n, { url }] of hanging.entries()) await t.submit(`hanging-${n}`, url);
    await t.submit("good", good.url);
    await good.count(2);
    expect(hanging.filter(({ received }) => received.length > 0).length).to.be.within(1, 39);
  });
});

describe("an event that is retried", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  it("goes to the end of its line, unlike the tasks of other queues", async () => {
    const queues = new Map([INTERNAL_QUEUES.webhooks, "jobs"].map((queue) => [queue, { ...t.settings, queue }]));
    const engine = new Engine({ ...t, pubsub: t.engine.pubsub, queues, fallback: t.settings });
    for (const queue of queues.keys()) {
      const take = async (reservation: string, count: number) => {
        const request = { queue, worker: "w", lane: 0, reservation, count, leaseMs: 15_000, rate: undefined };
        return (await engine.leases.reserve(request)).tasks;
      };
      for (const id of ["first", "second"]) await t.submit({ id: `${queue}-${id}`, queue, priority: 2 });
      const [task] = await take("a", 1);
      if (!task) throw new Error("nothing to take");
      const result = { status: 500, contentType: null, headers: {}, body: Buffer.alloc(0) };
      const failure = { kind: "retry", delayMs: 0, error: "x", code: "task-failed", result } as const;
      await engine.leases.fail({ queue, id: task.id, fence: task.fence }, failure, { ...t.settings, attempts: 3 });
      await t.submit({ id: `${queue}-less-urgent`, queue });
      await eventually(async () => (await engine.upkeep.tick(0)).promoted > 0);
      const order = queue === "jobs" ? ["first", "second", "less-urgent"] : ["second", "first", "less-urgent"];
      expect((await take("b", 3)).map(({ id }) => id)).to.deep.equal(order.map((id) => `${queue}-${id}`));
    }
  });
});

describe("the slots that receivers share", () => {
  const [a, b, c] = ["https://a.example/x", "https://a.example/y", "https://a.example:8443/x"] as const;
  const others = (count: number) => Array.from({ length: count }, (_, n) => `https://other-${n}.example/`);
  /** Visits a host, and ends that after so long. */
  const visit = (receivers: Receivers, url: string, tookMs: number, nowMs = 0) => {
    const end = receivers.enter(url, nowMs);
    if (typeof end === "number") return expect.fail(`wait ${end} ms`);
    end(nowMs + tookMs);
  };

  it("are limited for one origin, and free again when a delivery has ended", () => {
    const receivers = new Receivers(32);
    const ends = Array.from({ length: maxOfOne }, (_, n) => receivers.enter(n % 2 ? a : b, 0));
    for (const end of ends) expect(end).to.be.a("function");
    expect(receivers.enter(a, 0)).to.be.a("number");
    expect(receivers.enter(c, 0), "another service on the same host").to.be.a("function");
    const [end] = ends;
    if (typeof end === "function") end(10);
    expect(receivers.enter(a, 10)).to.be.a("function");
    expect(receivers.enter("https://b.example/", 10)).to.be.a("function");
  });

  it("are fewer for a host that was slow last time", () => {
    const receivers = new Receivers(32);
    visit(receivers, a, slowMs + 1);
    for (let n = 0; n < maxOfSlow; n += 1) expect(receivers.enter(a, slowMs + 1)).to.be.a("function");
    expect(receivers.enter(a, slowMs + 1)).to.be.a("number");
  });

  it("are limited to half of all for slow and unknown hosts together", () => {
    const receivers = new Receivers(32);
    visit(receivers, a, 10);
    const entered = others(100).filter((url) => typeof receivers.enter(url, 10) === "function");
    expect(entered).to.have.length(16);
    // The end of a delivery to a proven host frees none of their slots.
    visit(receivers, a, 10, 10);
    expect(receivers.enter(others(101).at(-1) ?? "", 20)).to.be.a("number");
    expect(receivers.enter(a, 20)).to.be.a("function");
  });

  it("are requested again by deliveries that found no slot, at the pace of the host and within a minute", () => {
    const receivers = new Receivers(32);
    visit(receivers, a, 1000);
    for (let n = 0; n < maxOfOne; n += 1) receivers.enter(a, 1000);
    const pauses = Array.from({ length: 1000 }, () => receivers.enter(a, 1000) as number);
    expect(pauses[0]).to.be.within(100, 2000);
    expect(pauses[20]).to.be.within(3000, 9000);
    expect(Math.max(...pauses)).to.be.at.most(longestPauseMs);
  });

  it("are remembered for a limited number of hosts, and always for those with deliveries", () => {
    const receivers = new Receivers(1_000_000);
    for (let n = 0; n < maxOfOne; n += 1) receivers.enter(a, 0);
    for (const url of others(RECEIVER_LIMITS.receivers + 10)) visit(receivers, url, 10);
    expect(receivers.size).to.be.at.most(RECEIVER_LIMITS.receivers);
    expect(receivers.enter(a, 0)).to.be.a("number");
  });
});
