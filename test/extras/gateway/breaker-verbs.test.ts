import { expect } from "chai";
import { CircuitBreakers } from "../../../src/extras/gateway/circuit-breakers.ts";
import { BREAKER } from "../../../src/extras/gateway/extension.ts";
import * as VERBS from "../../../src/extras/gateway/verbs.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { QUEUE, storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const { breakerFailures, firstProbeMs, longestProbeMs } = BREAKER;
const LEASE_MS = 15_000;

describe("the circuit breaker of a queue whose target is down", () => {
  let t: TestEngine;
  let breakers: CircuitBreakers;
  let tag: string;
  let references = 0;
  beforeEach(async () => {
    t = await openEngine({ settings: { gated: true } });
    breakers = new CircuitBreakers(t.scripts, t.keys, t.engine.events);
    t.engine.leases.gate = breakers;
    tag = t.keys.tag(0);
  });
  afterEach(() => t.close());

  const ask = (request: string, verb: "ask" | "return" = "ask") =>
    t.scripts.of(VERBS).breaker(tag, { queue: "jobs", request, leaseMs: LEASE_MS, verb });
  const note = (state: "up" | "down" | "unclear", request = "", reference = `t@${++references}`) =>
    t.scripts
      .of(VERBS)
      .breakerReport(tag, { queue: "jobs", reference, state, reason: "connect ECONNREFUSED", request });
  const fail = async (times: number) => {
    const verdicts: string[] = [];
    for (let n = 0; n < times; n += 1) verdicts.push(await note("down"));
    return verdicts;
  };
  const figures = async () => (await t.engine.queues.figures(["jobs"]))[0];
  const open = async () => {
    const row = await figures();
    if (!row?.rest) throw new Error("the breaker is closed");
    return row.rest;
  };
  const key = () => storedKey(tag, "queue");
  /** Writes the times of the open breaker, ms from now by the store's clock. */
  const setRest = async (sinceMs: number, nextMs: number, probes = 0) => {
    const [seconds = "0"] = (await t.redis.call("TIME")) as string[];
    const now = Number(seconds) * 1000;
    await t.redis.hset(key(), QUEUE.rest, `${now + sinceMs} ${now + nextMs} ${probes} ECONNREFUSED`);
  };
  const due = () => setRest(-5000, -2000);

  it("opens after a number of consecutive failures, reported to only one attempt; an answer in between resets the count", async () => {
    expect(await fail(breakerFailures - 1)).to.deep.equal(Array(breakerFailures - 1).fill("closed"));
    expect(await note("unclear")).to.equal("closed");
    expect(await note("up")).to.equal("closed");
    expect(await fail(breakerFailures - 1)).to.not.include("opened");
    expect(await figures())
      .to.deep.include({ rest: null })
      .and.to.have.nested.property("snapshot.resting", false);
    expect(await note("down")).to.equal("opened");
    expect(await figures()).to.have.nested.property("snapshot.resting", true);
    expect(await note("down")).to.equal("open");
    const { sinceMs, untilMs, reason } = await open();
    expect([untilMs - sinceMs, reason]).to.deep.equal([firstProbeMs, "connect ECONNREFUSED"]);
  });

  it("counts an attempt that is reported twice once, with the same answer", async () => {
    for (let n = 0; n < breakerFailures; n += 1) expect(await note("down", "", "same@1")).to.equal("closed");
    await fail(breakerFailures - 2);
    expect(await note("down", "", "last@1")).to.equal("opened");
    expect(await note("down", "", "last@1")).to.equal("opened");
  });

  it("reports to only one of many attempts that fail at the same instant that it opens", async () => {
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => note("down")));
    expect(verdicts.filter((verdict) => verdict === "opened")).to.have.length(1);
    expect(verdicts.filter((verdict) => verdict === "closed")).to.have.length(breakerFailures - 1);
  });

  it("admits one probe at a time, when it is time for one", async () => {
    await fail(breakerFailures);
    expect((await ask("a")).state).to.equal("open");
    expect((await ask("a")).waitMs).to.be.within(1, firstProbeMs);
    await due();
    expect((await ask("", "ask")).state, "not one that cannot be a probe").to.equal("open");
    const asked = await Promise.all(["a", "b", "c"].map((request) => ask(request)));
    expect(asked.map(({ state }) => state)).to.deep.equal(["half-open", "open", "open"]);
    expect((await ask("a")).state, "asked again").to.equal("half-open");
    expect((await ask("b")).waitMs).to.be.within(LEASE_MS - 5000, LEASE_MS);
  });

  it("admits another probe if the first one took no task, or its worker is gone", async () => {
    await fail(breakerFailures);
    await due();
    await ask("a");
    await ask("a", "return");
    expect((await ask("b")).state).to.equal("half-open");
    await ask("a", "return");
    expect((await ask("c")).state, "returned by another").to.equal("open");
    await t.redis.hset(key(), QUEUE.probe, `${Date.now() - 60_000} b`);
    expect((await ask("c")).state).to.equal("half-open");
    expect(await note("up", "b"), "the late success of the first").to.equal("open");
  });

  it("waits longer after each probe that failed, up to a minute", async () => {
    await fail(breakerFailures);
    const waits: number[] = [];
    for (let probes = 0; probes < 8; probes += 1) {
      await setRest(-100_000, -1, probes);
      await ask("a");
      expect(await note(probes % 2 ? "unclear" : "down", "a")).to.equal("open");
      waits.push((await ask("b")).waitMs);
    }
    const expected = [2000, 4000, 8000, 16_000, 32_000, longestProbeMs, longestProbeMs, longestProbeMs];
    for (const [n, wait] of waits.entries()) expect(wait).to.be.within((expected[n] ?? 0) - 1000, expected[n] ?? 0);
  });

  it("closes when the probe succeeds, and only then", async () => {
    await fail(breakerFailures);
    await due();
    await ask("a");
    expect(await note("up"), "an answer to a request that was sent before").to.equal("open");
    expect(await note("down"), "and a failure of one").to.equal("open");
    let heard = 0;
    await t.engine.pubsub.listen(t.keys.workChannel(0, "jobs"), () => {
      heard += 1;
    });
    expect(await note("up", "a", "probe@1")).to.equal("recovered");
    expect(await note("up", "a", "probe@1")).to.equal("recovered");
    await eventually(async () => heard > 0);
    expect((await figures())?.rest).to.equal(null);
    expect(await ask("b")).to.deep.equal({ state: "closed", waitMs: 0, failures: 0 });
    expect(await fail(breakerFailures - 1)).to.not.include("opened");
  });

  it("does not wait for times that lie in the future because the clock was set back", async () => {
    await fail(breakerFailures);
    await setRest(3_600_000, 3_600_000);
    expect((await ask("a")).waitMs).to.be.within(1, firstProbeMs);
    await due();
    await t.redis.hset(key(), QUEUE.probe, `${Date.now() + 3_600_000} gone`);
    expect((await ask("a")).waitMs).to.be.within(1, LEASE_MS);
    const kept = await t.redis.hget(key(), QUEUE.probe);
    expect(Number(kept?.split(" ")[0]) - Date.now()).to.be.below(LEASE_MS + 5000);
  });

  it("leaves tasks in their places, and starts only one as a probe", async () => {
    for (const id of ["a", "b", "c"]) await t.submit({ id });
    await fail(breakerFailures);
    expect(await t.reserve(3)).to.deep.equal([]);
    expect((await t.look("c")).index).to.equal(2);
    expect((await t.look("a")).eta).to.equal(null);
    await due();
    const [probe, ...others] = await t.reserve(3);
    if (!probe) throw new Error("no probe");
    expect([probe.id, others]).to.deep.equal(["a", []]);
    expect(await t.reserve(3)).to.deep.equal([]);
    const lease = { queue: "jobs", id: probe.id, fence: probe.fence };
    expect(breakers.isProbe(lease)).to.equal(true);
    await t.redis.hset(key(), QUEUE.probe, `${Date.now() + 1} 0 w1 0 gone`);
    expect(await t.engine.call("release", lease)).to.equal("released");
    expect((await t.look("a")).index).to.equal(0);
    expect((await t.look("a")).attempts).to.equal(0);
  });

  it("lets everything through once the probe is complete", async () => {
    for (const id of ["a", "b", "c"]) await t.submit({ id });
    await fail(breakerFailures);
    await due();
    const [probe] = await t.reserve(1);
    if (!probe) throw new Error("no probe");
    const lease = { queue: "jobs", id: probe.id, fence: probe.fence };
    expect(await breakers.note(lease, { state: "up", reason: "", repeatable: true })).to.equal("recovered");
    await t.engine.leases.complete(lease, resultOf("done"), t.settings);
    expect((await t.reserve(3)).map(({ id }) => id)).to.deep.equal(["b", "c"]);
  });

  it("is not probed again by a late renewal of a probe that has been reported, and is as long as the lease is renewed", async () => {
    await t.submit({ id: "a" });
    await fail(breakerFailures);
    await due();
    const [probe] = await t.reserve(1, { leaseMs: 1000 });
    if (!probe) throw new Error("no probe");
    const lease = { queue: "jobs", id: probe.id, fence: probe.fence };
    expect((await ask("other")).waitMs).to.be.at.most(1000);
    await t.engine.leases.renew(lease, LEASE_MS);
    expect((await ask("other")).waitMs).to.be.above(1000);
    await breakers.note(lease, undefined);
    await t.engine.leases.renew(lease, LEASE_MS);
    expect((await ask("other")).state).to.equal("half-open");
  });

  it("returns a probe of a queue that has no task, or is paused", async () => {
    await fail(breakerFailures);
    await due();
    expect(await t.reserve(1)).to.deep.equal([]);
    expect(await t.redis.hget(key(), QUEUE.probe)).to.equal(null);
    await t.submit({ id: "a" });
    await t.engine.queues.pause("jobs", true);
    expect(await t.reserve(1)).to.deep.equal([]);
    await t.engine.queues.pause("jobs", false);
    expect(await t.reserve(1)).to.have.length(1);
  });
});
