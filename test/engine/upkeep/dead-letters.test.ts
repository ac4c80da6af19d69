import { expect } from "chai";
import { catalogueResult } from "../../../src/engine/tasks/result.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the dead tasks of a queue", () => {
  let jobs: TestEngine;
  beforeEach(async () => {
    jobs = await openEngine({ settings: { attempts: 1 } });
  });
  afterEach(() => jobs.close());

  /** Takes whatever waits, and lets it die. */
  async function die(): Promise<number> {
    const tasks = await jobs.reserve(100);
    const failure = { kind: "retry", delayMs: 0, error: "again", code: "task-failed" } as const;
    const result = catalogueResult("task-failed");
    const endings = tasks.map(({ id, fence }) =>
      jobs.engine.leases.fail({ queue: "jobs", id, fence }, { ...failure, result }, jobs.settings),
    );
    expect(new Set(await Promise.all(endings))).to.deep.equal(new Set(tasks.length > 0 ? ["dead"] : []));
    return tasks.length;
  }
  async function dead(count: number): Promise<void> {
    for (let n = 0; n < count; n += 100) {
      const some = Math.min(100, count - n);
      await Promise.all(Array.from({ length: some }, () => jobs.submit()));
      expect(await die()).to.equal(some);
    }
  }
  const deadNow = async () => (await jobs.engine.queues.figures(["jobs"]))[0]?.dead;

  /** Lets everything die again before the engine looks at the next page. */
  function dyingAgain(): { deaths: number } {
    const seen = { deaths: 0 };
    const { page } = jobs.scripts;
    jobs.scripts.page = async (...args) => {
      for (let died = 1; died > 0; seen.deaths += died) died = await die();
      return await page(...args);
    };
    return seen;
  }

  it("are retried once each, even if they die again meanwhile", async () => {
    await dead(250);
    const seen = dyingAgain();
    expect(await jobs.engine.deadLetters.retryAll("jobs")).to.equal(250);
    while ((await die()) > 0);
    expect(seen.deaths).to.be.at.most(250);
    expect(await deadNow()).to.equal(250);
  });

  /** Runs before the second page is read; a fifth means that it does not end. */
  function beforeSecondPage(then: () => Promise<unknown>): void {
    const { page } = jobs.scripts;
    let pages = 0;
    jobs.scripts.page = async (...args) => {
      pages += 1;
      if (pages === 2) await then();
      if (pages === 5) throw new Error("it does not end");
      return await page(...args);
    };
  }
  const deleteOldest = async (count: number) => {
    const ids = await jobs.redis.zrange(jobs.key("dead"), "0", String(count - 1));
    await Promise.all(ids.map((id) => jobs.engine.call("cancel", { id, queue: "jobs" })));
  };

  it("are retried once each, although some were deleted meanwhile and others have died again", async () => {
    await dead(150);
    beforeSecondPage(async () => {
      expect(await die()).to.equal(100);
      await deleteOldest(50);
    });
    expect(await jobs.engine.deadLetters.retryAll("jobs")).to.equal(100);
    expect(await deadNow()).to.equal(100);
  });

  it("are not retried if they died after the call had begun", async () => {
    await dead(110);
    beforeSecondPage(async () => {
      expect(await die()).to.equal(100);
      await dead(5);
    });
    expect(await jobs.engine.deadLetters.retryAll("jobs")).to.equal(110);
  });

  it("may be gone before their turn", async () => {
    await dead(150);
    beforeSecondPage(() => deleteOldest(50));
    expect(await jobs.engine.deadLetters.retryAll("jobs")).to.equal(100);
    expect(await deadNow()).to.equal(0);
    await die();
    await dead(50);
    const { deleteDead } = jobs.scripts;
    let calls = 0;
    jobs.scripts.deleteDead = async (...args) => {
      calls += 1;
      if (calls === 2) await deleteOldest(50);
      if (calls === 5) throw new Error("it does not end");
      return await deleteDead(...args);
    };
    expect(await jobs.engine.deadLetters.deleteAll("jobs")).to.equal(100);
  });

  it("are not retried any further once the caller has gone", async () => {
    await dead(250);
    const gone = new AbortController();
    const { page } = jobs.scripts;
    jobs.scripts.page = (...args) => {
      gone.abort();
      return page(...args);
    };
    expect(await jobs.engine.deadLetters.retryAll("jobs", gone.signal)).to.equal(100);
    expect(await deadNow()).to.equal(150);
  });

  it("are deleted, but not those that die meanwhile", async () => {
    await dead(150);
    const { deleteDead } = jobs.scripts;
    jobs.scripts.deleteDead = async (...args) => {
      const deleted = await deleteDead(...args);
      await dead(100);
      return deleted;
    };
    expect(await jobs.engine.deadLetters.deleteAll("jobs")).to.equal(150);
    expect(await deadNow()).to.equal(200);
  });
});
