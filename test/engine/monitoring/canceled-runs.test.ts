import { expect } from "chai";
import { RATE_LETTERS } from "../../../src/store/letters.ts";
import { failureOf, openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";

describe("a task that is canceled while it runs", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  /** What the rate buckets of the queue hold together. */
  const counted = async (kind: keyof typeof RATE_LETTERS) => {
    const fields = Object.entries(await t.redis.hgetall(t.key("queue")));
    const values = fields
      .filter(([name]) => name.match(`^${RATE_LETTERS[kind]}\\d$`))
      .map(([, value]) => Number(value));
    return values.reduce((sum, value) => sum + (value % 2 ** 24), 0);
  };
  const lease = { queue: "jobs", id: "one", fence: "" };

  const ends: Readonly<Record<string, (of: typeof lease) => Promise<unknown>>> = {
    "returns a result": (of) => t.engine.leases.complete(of, resultOf("x"), t.settings),
    "returns a result while the next task is reserved": async (of) => {
      const [verdict] = await Promise.all([t.engine.leases.complete(of, resultOf("x"), t.settings), t.reserve()]);
      return verdict;
    },
    throws: (of) => t.engine.leases.fail(of, failureOf("retry"), t.settings),
    "gives up": (of) => t.engine.leases.fail(of, failureOf("give-up"), t.settings),
    "is handed back": (of) => t.engine.call("release", of),
    "kills its process": (of) => t.engine.call("lose", of),
    "loses its lease": async ({ id }) => {
      await t.redis.zadd(t.key("leases"), 1, id);
      return (await t.engine.maintenance.tick(0)).lost[0]?.fate;
    },
  };
  for (const [how, end] of Object.entries(ends)) {
    it(`is counted as having left its slot, but not as finished, if its handler ${how}`, async () => {
      t = await openEngine();
      await t.submit({ id: "one" });
      const [task] = await t.reserve();
      expect(await t.engine.call("cancel", { id: "one", queue: "jobs" })).to.equal("requested");
      expect(await end({ ...lease, fence: task?.fence ?? "" })).to.equal("canceled");
      expect((await t.look("one")).state).to.equal("canceled");
      expect({
        finished: await counted("finished"),
        failed: await counted("failed"),
        returned: await counted("returned"),
      }).to.deep.equal({ finished: 0, failed: 0, returned: 1 });
      expect((await t.engine.queues.figures(["jobs"]))[0]?.finishedLastMinute).to.equal(0);
    });
  }
});
