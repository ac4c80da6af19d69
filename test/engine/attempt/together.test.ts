import { expect } from "chai";
import { RATE_LETTERS } from "../../../src/store/letters.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { QUEUE } from "../../helpers/store/stored.ts";

const COUNT = 5;

describe("tasks whose attempts end in one call", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
  });
  afterEach(() => t.close());

  const counted = async (kind: keyof typeof RATE_LETTERS) => {
    const fields = Object.entries(await t.redis.hgetall(t.key("queue")));
    const values = fields.filter(([name]) => name.match(`^${RATE_LETTERS[kind]}\\d$`));
    return values.reduce((sum, [, value]) => sum + (Number(value) % 2 ** 24), 0);
  };

  const running = async () => {
    for (let n = 0; n < COUNT; n += 1) await t.submit();
    return (await t.reserve(COUNT)).map(({ id, fence }) => ({ queue: "jobs", id, fence }));
  };

  it("are all counted if they fail", async () => {
    const leases = await running();
    await Promise.all(leases.map((lease) => t.engine.leases.fail(lease, failureOf("retry"), t.settings)));
    expect(await counted("finished")).to.equal(COUNT);
    expect(await counted("failed")).to.equal(COUNT);
    expect(await t.redis.hget(t.key("queue"), QUEUE.dead)).to.equal(String(COUNT));
  });

  it("are all counted if they lose their worker", async () => {
    const leases = await running();
    await Promise.all(leases.map((lease) => t.engine.call("lose", lease)));
    expect(await counted("returned")).to.equal(COUNT);
    expect(await t.redis.hget(t.key("queue"), QUEUE.lost)).to.equal(String(COUNT));
  });

  it("are all counted if they are handed back", async () => {
    const leases = await running();
    await Promise.all(leases.map((lease) => t.engine.call("release", lease)));
    expect(await counted("returned")).to.equal(COUNT);
  });

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
