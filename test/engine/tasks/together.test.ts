import { expect } from "chai";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";

const COUNT = 5;

describe("tasks whose attempts end in one call", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
  });
  afterEach(() => t.close());

  const running = async () => {
    for (let n = 0; n < COUNT; n += 1) await t.submit();
    return (await t.reserve(COUNT)).map(({ id, fence }) => ({ queue: "jobs", id, fence }));
  };

  it("are counted, and told to whoever waits in this process, if a reservation carries them", async () => {
    const leases = await running();
    const told = new Set<string | undefined>();
    for (const { id } of leases) {
      await t.engine.notices.listen({ id, queue: "jobs" }, (notice) => told.add(notice?.id)).ready;
      await t.engine.inspector.inspect(id, { result: false, listen: true });
    }
    const completed = Promise.all(leases.map((lease) => t.engine.leases.complete(lease, resultOf("ok"), t.settings)));
    await t.reserve();
    expect(await completed).to.deep.equal(leases.map(() => "done"));
    expect(told).to.deep.equal(new Set(leases.map(({ id }) => id)));
    expect(await t.engine.metrics.exposition()).to.include(
      `paihao_attempts_total{queue="jobs",ending="done"} ${COUNT}`,
    );
  });
});
