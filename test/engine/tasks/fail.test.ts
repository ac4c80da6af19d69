import { expect } from "chai";
import type { Failure } from "../../../src/engine/tasks/attempt-end.ts";
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
