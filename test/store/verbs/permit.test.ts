import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";

const RATE = { max: 3, perMs: 60_000 };

describe("permits to start tasks of a queue with a rate", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  const ask = (request: string, count: number, used?: number) =>
    t.scripts.permit(t.keys.tag(0), { queue: "jobs", request, count, rate: RATE, ...(used !== undefined && { used }) });

  it("come without a pause if there are enough, and with one if there are none", async () => {
    expect(await ask("a", 3)).to.deep.equal({ permits: 3, pauseMs: 0 });
    const refused = await ask("b", 1);
    expect(refused.permits).to.equal(0);
    expect(refused.pauseMs).to.be.within(RATE.perMs / 2, RATE.perMs);
  });

  it("are others' when they are handed back, and workers hear of them if there were none left", async () => {
    let heard = 0;
    await t.engine.pubsub.listen(t.keys.workChannel(0, "jobs"), () => {
      heard += 1;
    });
    await ask("a", 2);
    await ask("a", 2, 1);
    await ask("b", 2);
    expect(await ask("c", 1)).to.include({ permits: 0 });
    await ask("b", 2, 1);
    await eventually(async () => heard === 1);
    expect((await ask("c", 3)).permits).to.equal(1);
    expect((await ask("c", 3)).permits).to.equal(1);
  });
});
