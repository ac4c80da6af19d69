import { expect } from "chai";
import type { Engine } from "../../src/engine/engine.ts";
import type { Logger } from "../../src/log.ts";
import type { Attempt } from "../../src/workers/attempt/attempt.ts";
import { LeaseRenewer } from "../../src/workers/lease-renewer.ts";
import { attemptOf } from "../helpers/attempt.ts";
import { deferred } from "../helpers/deferred.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";
import { recordingLog } from "../helpers/recording-log.ts";

const LEASE_MS = 30_000;
const settings = { leaseMs: LEASE_MS };

describe("the renewal of the leases of a worker", () => {
  let time: FakeTime;
  let renewer: LeaseRenewer;
  let log: Logger;
  let messages: readonly string[];
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(async () => {
    await renewer.stop();
    time.end();
  });

  /** Starts it; returns the ids of the renewed. */
  const start = (verdict: (id: string) => string | Promise<string> = () => "ok") => {
    const renewed: string[] = [];
    const renew = async ({ id }: { readonly id: string }, leaseMs: number) => {
      expect(leaseMs).to.equal(LEASE_MS);
      renewed.push(id);
      return verdict(id);
    };
    ({ log, messages } = recordingLog());
    renewer = new LeaseRenewer({ leases: { renew } } as unknown as Engine, log);
    renewer.start();
    return renewed;
  };
  const hold = (id: string, agoMs = 0): Attempt => {
    const attempt = attemptOf({ task: { id }, settings, own: { takenAt: performance.now() - agoMs }, log });
    renewer.hold(attempt);
    return attempt;
  };

  it("comes when a third of a lease has passed, and then again", async () => {
    const renewed = start();
    hold("young");
    hold("old", 8000);
    await time.pass(1000);
    expect(renewed).to.deep.equal([]);
    await time.pass(1200);
    expect(renewed).to.deep.equal(["old"]);
    await time.pass(7400);
    expect(renewed).to.deep.equal(["old"]);
    await time.pass(600);
    expect(renewed).to.deep.equal(["old", "young"]);
    await time.pass(2200);
    expect(renewed).to.deep.equal(["old", "young", "old"]);
  });

  it("tells the handler why to stop", async () => {
    const verdicts: Record<string, string> = { a: "cancel", b: "deadline", c: "abandoned", d: "stale", e: "ok" };
    start((id) => verdicts[id] ?? "");
    const attempts = Object.keys(verdicts).map((id) => hold(id, LEASE_MS));
    await time.pass(500);
    expect(attempts.map(({ aborted }) => aborted)).to.deep.equal([
      ...["canceled", "deadline", "abandoned", "lease-lost", undefined],
    ]);
    // The lease that is lost.
    expect(messages).to.have.length(1);
  });

  it("is made once at a time for each lease, and a slow one delays no other", async () => {
    const slow = deferred<string>();
    const renewed = start((id) => (id === "slow" ? slow.promise : "ok"));
    hold("slow", LEASE_MS);
    await time.pass(1000);
    hold("other", LEASE_MS);
    await time.pass(1000);
    expect(renewed).to.deep.equal(["slow", "other"]);
    slow.resolve("ok");
    // Counted from when it was sent.
    await time.pass(LEASE_MS / 3 - 1500);
    expect(renewed.filter((id) => id === "slow")).to.have.length(2);
  });

  it("does not stop what ended just before, although the answer to that is still being read", async () => {
    const renewal = deferred<string>();
    start(() => renewal.promise);
    const attempt = hold("one", LEASE_MS);
    await time.pass(500);
    renewal.resolve("stale");
    for (let n = 0; n < 10; n += 1) await undefined;
    renewer.drop(attempt);
    await time.pass(100);
    expect([attempt.aborted, messages]).to.deep.equal([undefined, []]);
  });

  it("does not stop what has ended meanwhile", async () => {
    const [one, other] = [deferred<string>(), deferred<string>()];
    start((id) => (id === "one" ? one.promise : other.promise));
    const attempts = [hold("one", LEASE_MS), hold("other", LEASE_MS)];
    await time.pass(500);
    for (const attempt of attempts) renewer.drop(attempt);
    one.resolve("stale");
    other.resolve("cancel");
    await time.pass(100);
    expect(attempts.map(({ aborted }) => aborted)).to.deep.equal([undefined, undefined]);
  });

  it("is repeated if it fails, which is logged once in each outage", async () => {
    let away = true;
    const renewed = start(() => (away ? Promise.reject(new Error("refused")) : "ok"));
    const attempt = hold("one", LEASE_MS);
    await time.pass(2000);
    expect(renewed.length).to.be.above(2);
    expect([messages.length, attempt.aborted]).to.deep.equal([1, undefined]);
    away = false;
    await time.pass(500);
    away = true;
    await time.pass(LEASE_MS / 2);
    expect(messages).to.have.length(2);
  });

  it("says when no task is left that will end, or that the time is up", async () => {
    start();
    expect(await renewer.settled(1000)).to.equal(true);
    const attempts = [hold("one"), hold("stuck"), hold("other")] as const;
    const late = renewer.settled(1000);
    await time.pass(1000);
    expect(await late).to.equal(false);
    let isOver = false;
    const settled = (withinMs: number) => {
      isOver = false;
      return renewer.settled(withinMs).finally(() => {
        isOver = true;
      });
    };
    const ended = settled(1000);
    renewer.drop(attempts[0]);
    renewer.drop(attempts[2]);
    // It is not held any more.
    renewer.noteStuck(attempts[0]);
    await time.pass(500);
    expect(isOver).to.equal(false);
    renewer.noteStuck(attempts[1]);
    expect(await ended).to.equal(true);
    expect(renewer.size).to.equal(1);
    // Its task is run again here: that attempt will end.
    const again = hold("stuck");
    const second = settled(1000);
    await time.pass(100);
    expect(isOver).to.equal(false);
    renewer.drop(again);
    expect(await second).to.equal(true);
    const last = hold("last");
    renewer.noteStuck(last);
    renewer.drop(last);
    expect(await settled(1000)).to.equal(true);
  });
});
