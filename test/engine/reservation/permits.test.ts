import { expect } from "chai";
import { Permits } from "../../../src/engine/reservation/permits.ts";
import { ProblemError } from "../../../src/errors.ts";
import { Keys } from "../../../src/store/keys.ts";
import { BATCH_LIMIT, type ReservedPart, type Scripts } from "../../../src/store/verbs/scripts.ts";

const RATE = { max: 100, perMs: 60_000 };

describe("the permits of a queue with a rate over several partitions", () => {
  const keys = new Keys("permits:", 4);

  /** Reserves from a partition with so many tasks, of which so many may start; returns what was asked for. */
  const reserve = async ({ count = 5, startable = 9, permits = 9, waiting = 9, given = -1, fails = false }) => {
    const asked: unknown[] = [];
    const scripts: Partial<Scripts> = {
      startable: async () => startable,
      permit: async (tag, { used, ...request }) => {
        expect(tag).to.equal(keys.tag(keys.partitionOf("jobs")));
        expect(request).to.include({ queue: "jobs", request: "3 w1 0 r1", rate: RATE });
        asked.push(used === undefined ? request.count : `used ${used}`);
        if (used !== undefined && fails) throw new ProblemError("store-unavailable");
        return { permits: Math.min(permits, request.count), pauseMs: 70 };
      },
    };
    const request = { queue: "jobs", worker: "w1", reservation: "r1", count, leaseMs: 1000, rate: RATE };
    const { tasks, pauseMs } = await new Permits(scripts as Scripts, keys).reserve(3, request, RATE, async (most) => {
      const tasks = Array.from({ length: Math.min(most, waiting) }, () => ({}));
      return { tasks, pauseMs: 5, part: given < 0 ? null : { given } } as unknown as ReservedPart;
    });
    return { asked, tasks: tasks.length, pauseMs };
  };

  it("are asked for as many tasks as may start, and those without a task are returned", async () => {
    expect(await reserve({})).to.deep.equal({ asked: [5, "used 5"], tasks: 5, pauseMs: 70 });
    expect(await reserve({ startable: 3 })).to.deep.equal({ asked: [3, "used 3"], tasks: 3, pauseMs: 70 });
    expect(await reserve({ waiting: 2 })).to.deep.equal({ asked: [5, "used 2"], tasks: 2, pauseMs: 70 });
    const most = 2 * BATCH_LIMIT;
    expect((await reserve({ count: most, startable: most })).asked[0]).to.equal(BATCH_LIMIT);
  });

  it("are not asked for without a task, and not returned if there were none", async () => {
    expect(await reserve({ startable: 0 })).to.deep.equal({ asked: [], tasks: 0, pauseMs: 5 });
    expect(await reserve({ permits: 0 })).to.deep.equal({ asked: [5], tasks: 0, pauseMs: 70 });
  });

  it("count for the tasks that a repeated request got before, although some have ended", async () => {
    expect((await reserve({ given: 4, waiting: 1 })).asked).to.deep.equal([5, "used 4"]);
  });

  it("count as used if they cannot be returned", async () => {
    expect((await reserve({ waiting: 1, fails: true })).tasks).to.equal(1);
  });
});
