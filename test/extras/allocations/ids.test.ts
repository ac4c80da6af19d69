import { expect } from "chai";
import { Allocations, isAllocated } from "../../../src/extras/allocations/ids.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";

const HOUR_MS = 3_600_000;

describe("an allocated id", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ partitions: 2 });
  });
  afterEach(() => t.close());

  const allocations = () => new Allocations(t.engine);
  const allocate = (maxWaiting = 100) => allocations().allocate("jobs", "ann", maxWaiting);

  it("is known with its queue and caller until it is dropped", async () => {
    const one = await allocate();
    expect(one).to.include({ queue: "jobs", caller: "ann" });
    expect(await allocations().find(one.id)).to.deep.equal(one);
    await allocations().drop(one);
    expect(await allocations().find(one.id)).to.equal(null);
  });

  it("is known for an hour", async () => {
    const { id } = await allocate();
    const tag = t.keys.tag(t.keys.partitionOf(id));
    expect(await t.redis.pttl(storedKey(tag, "allocation", id))).to.be.within(HOUR_MS - 60_000, HOUR_MS);
  });

  it("is one of a form that no id of a caller has by chance", async () => {
    expect(isAllocated((await allocate()).id)).to.equal(true);
    const id = "a-00000000-0000-4000-8000-000000000000";
    expect(isAllocated(id)).to.equal(true);
    for (const other of [`b${id}`, `${id}0`, id.slice(0, -1), id.replaceAll("0", "x"), id.replaceAll("-", "")])
      expect(isAllocated(other), other).to.equal(false);
  });

  it("counts as a waiting task", async () => {
    const limit = 5;
    const refusals: unknown[] = [];
    for (let n = 0; n < 8; n += 1) await allocate(limit).catch((error) => refusals.push(error));
    expect(refusals).to.have.length(8 - limit);
    expect(refusals[0]).to.deep.include({ code: "queue-full", retryAfterS: 5 });
    expect(refusals[0]).to.have.deep.property("extensions", { queue: "jobs", waiting: 0, scheduled: 0 });
  });
});
