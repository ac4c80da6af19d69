import { expect } from "chai";
import { Scans } from "../../../src/engine/watch/pages.ts";
import { ProblemError } from "../../../src/errors.ts";
import { deferred } from "../../helpers/deferred.ts";
import { failureOf, openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("what looks through lists", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
  });
  afterEach(() => t.close());

  /** Lets tasks die, each of an error of its own. */
  const die = async (count: number) => {
    for (let n = 0; n < count; n += 100) {
      for (let i = 0; i < 100; i += 1) await t.submit({ label: "Hay" });
      const tasks = await t.reserve(100);
      const fail = ({ id, fence }: (typeof tasks)[number]) =>
        t.engine.leases.fail({ queue: "jobs", id, fence }, { ...failureOf("retry"), error: id }, t.settings);
      await Promise.all(tasks.map(fail));
    }
  };
  /** What calls of the store took: how many at once, how many entries each, and how long all together, ms. */
  const watchCalls = () => {
    const seen = { atOnce: 0, entries: 0, busyMs: 0 };
    let underway = 0;
    for (const name of ["page", "finished"] as const) {
      const read = t.scripts[name] as (tag: string, asked: never) => Promise<{ looked: number }>;
      t.scripts[name] = (async (tag: string, asked: never) => {
        underway += 1;
        seen.atOnce = Math.max(seen.atOnce, underway);
        const begun = performance.now();
        try {
          const answer = await read(tag, asked);
          seen.entries = Math.max(seen.entries, answer.looked);
          return answer;
        } finally {
          seen.busyMs += performance.now() - begun;
          underway -= 1;
        }
      }) as never;
    }
    return seen;
  };

  it("takes steps of few entries, one at a time, and a fifth of the time, however many look", async () => {
    await die(300);
    const seen = watchCalls();
    const begun = performance.now();
    const request = { queue: "jobs", after: null, limit: 50, filter: { text: "needle" } };
    const all = await Promise.all([
      ...[1, 2, 3].map(() => t.engine.deadLetters.errors("jobs")),
      ...[1, 2, 3].map(() => t.engine.queues.page("dead", request)),
      ...[1, 2, 3].map(() => t.engine.queues.finished(request)),
    ]);
    expect(all.slice(0, 3).map((groups) => (groups as readonly unknown[]).length)).to.deep.equal([300, 300, 300]);
    expect(seen.atOnce).to.equal(1);
    expect(seen.entries).to.equal(100);
    // The last step has no pause behind it, and a long one a shorter pause.
    expect(seen.busyMs / (performance.now() - begun)).to.be.below(0.5);
  });

  it("is not waited for if the store does not answer: all who wait are told at once, and the next may look", async () => {
    const scans = new Scans();
    const hanging = deferred<never>();
    const steps = [
      scans.step(() => hanging.promise),
      scans.step(async () => "too late"),
      scans.step(async () => "too late"),
    ];
    hanging.reject(new ProblemError("store-unavailable"));
    for (const { status } of await Promise.allSettled(steps)) expect(status).to.equal("rejected");
    expect(await scans.step(async () => "next")).to.equal("next");
  });

  it("is no more than eight requests at a time, of which one that fails makes room", async () => {
    const scans = new Scans();
    const open = deferred<void>();
    const looks = Array.from({ length: 7 }, () => scans.run(() => open.promise));
    expect(await scans.run(() => Promise.reject(new Error("no"))).catch((error: unknown) => String(error))).to.equal(
      "Error: no",
    );
    looks.push(scans.run(() => open.promise));
    const refused = await scans.run(() => open.promise).catch((error: unknown) => error);
    expect(refused).to.include({ code: "rate-limited", retryAfterS: 2 });
    open.resolve();
    await Promise.all(looks);
    expect(await scans.run(async () => "room")).to.equal("room");
  });
});
