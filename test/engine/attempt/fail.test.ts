import { expect } from "chai";
import type { Failure } from "../../../src/engine/attempt/attempt-end.ts";
import { failureOf, openEngine, type TestEngine } from "../../helpers/engine.ts";

const KEPT = { resultTtlMs: 60_000, deadTtlMs: 600_000, attempts: 2 };

describe("a failed attempt", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  const fail = async (id: string, given: Partial<Failure> = {}) => {
    const [task] = await t.reserve();
    const lease = { queue: "jobs", id, fence: task?.fence ?? "" };
    return t.engine.leases.fail(lease, { ...failureOf("retry", 60_000), ...given }, t.settings);
  };

  it("is followed by another after its delay, and the last one is kept as long as dead tasks are", async () => {
    t = await openEngine({ settings: KEPT });
    await t.submit({ id: "a" });
    const due: unknown[] = [];
    t.engine.maintenance.onDue((...given) => due.push(given));
    expect(await fail("a")).to.equal("retrying");
    expect(due).to.deep.equal([[0, 60_000]]);
    await t.makeDue("a");
    await t.engine.maintenance.tick(0);
    expect(await fail("a")).to.equal("dead");
    const { state, finishedMs, expiresMs, result } = await t.look("a");
    expect({ state, status: result?.status }).to.deep.equal({ state: "failed", status: 500 });
    expect((expiresMs ?? 0) - (finishedMs ?? 0)).to.equal(KEPT.deadTtlMs);
  });

  it("leaves the first 500 characters of its error", async () => {
    t = await openEngine({ settings: KEPT });
    await t.submit({ id: "a" });
    expect(await fail("a", { kind: "give-up", error: "x".repeat(1000) })).to.equal("failed");
    expect((await t.look("a")).errors).to.deep.equal(["x".repeat(500)]);
  });

  it("is counted", async () => {
    t = await openEngine({ settings: KEPT });
    await t.submit({ id: "a" });
    await fail("a");
    expect(await t.engine.metrics.exposition()).to.include('paihao_attempts_total{queue="jobs",ending="retrying"} 1');
  });
});
