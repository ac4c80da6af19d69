import { expect } from "chai";
import type { Engine } from "../../../src/engine/engine.ts";
import { readGauges } from "../../../src/engine/monitoring/read-gauges.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the gauges", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { targetWaitMs: 1000 } });
  });
  afterEach(() => t.close());
  const sources = { readiness: async () => [], nodes: async () => [] };

  it("have the figures of each queue; without a circuit breaker nothing of one", async () => {
    await t.submit();
    await t.submit({ delayMs: 60_000 });
    const { ready, writable, queues, nodes } = await readGauges({ engine: t.engine, ...sources });
    expect({ ready, writable, nodes }).to.deep.equal({ ready: true, writable: true, nodes: [] });
    expect(queues).to.have.length(1);
    expect(queues?.[0]).to.include({ queue: "jobs", waiting: 1, scheduled: 1, running: 0, dead: 0, lateMs: null });
    expect(queues?.[0]).to.include({ resting: null, orphaned: false, slotsWanted: 1 });
    expect(queues?.[0]?.oldestWaitingMs).to.be.within(0, 30_000);
    const gateway = await openEngine({ prefix: t.keys.prefix, settings: { gated: true } });
    expect((await readGauges({ engine: gateway.engine, ...sources })).queues?.[0]?.resting).to.equal(false);
    await gateway.close();
  });

  it("say that the server is not ready, and that the store cannot be reached or refuses writes", async () => {
    const away = () => Promise.reject(new Error("away"));
    const lost = {
      ...t.engine,
      queues: { allFigures: away },
      upkeep: { refusals: new Map() },
      incidents: { read: away },
    } as unknown as Engine;
    expect(await readGauges({ engine: lost, readiness: async () => ["away"], nodes: away })).to.deep.equal({
      ...{ ready: false, writable: false, queues: null, nodes: [], incidents: [] },
    });
    const full = {
      ...t.engine,
      queues: t.engine.queues,
      upkeep: { refusals: new Map([[0, "full"]]) },
    } as unknown as Engine;
    const seen = await readGauges({ engine: full, ...sources });
    expect([seen.ready, seen.writable, seen.queues?.length]).to.deep.equal([true, false, 1]);
  });
});
