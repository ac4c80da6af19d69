import { expect } from "chai";
import { takeOrWait } from "../../../src/engine/tasks/take.ts";
import { ProblemError } from "../../../src/errors.ts";
import { type Scripts, scriptsOf } from "../../../src/store/library/scripts.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { replaceCall } from "../../helpers/replace-call.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const never = new AbortController().signal;

describe("a request for work that is sent again", () => {
  let t: TestEngine;
  /** What happens to calls: they are not made, or their replies are lost. */
  let faults: { reserve: "away" | "mute" | undefined; unreserve: "away" | undefined };
  /** Called before tasks are asked for. */
  let onReserve: () => Promise<void> | void;

  const failIf = (fails: boolean) => {
    if (fails) throw new ProblemError("store-unavailable");
  };
  const faulty = (scripts: Scripts): Scripts => ({
    ...scripts,
    reserve: async (...given) => {
      await onReserve();
      failIf(faults.reserve === "away");
      const reserved = await scripts.reserve(...given);
      failIf(faults.reserve === "mute");
      return reserved;
    },
    unreserve: async (...given) => {
      failIf(faults.unreserve === "away");
      return await scripts.unreserve(...given);
    },
  });
  beforeEach(async () => {
    faults = { reserve: undefined, unreserve: undefined };
    onReserve = () => undefined;
    t = await openEngine({ partitions: 3, makeScripts: (redis) => faulty(scriptsOf(redis)) });
  });
  afterEach(() => t.close());

  const home = () => t.keys.partitionOfQueue("jobs");
  const ask = (
    reservation: string,
    options: { count?: number; waitMs?: number; leaseMs?: number; fillMs?: number } = {},
  ) => {
    const { waitMs = 0, ...given } = options;
    const request = { queue: "jobs", worker: "remote", reservation, count: 3, leaseMs: 15_000, ...given };
    return takeOrWait(t.engine, request, Date.now() + waitMs, never);
  };
  const take = async (reservation: string, options: Parameters<typeof ask>[1] = {}) =>
    (await ask(reservation, options)).tasks.map(({ id, fence }) => `${id} ${fence}`);
  const fill = async (count: number) => {
    for (let n = 0; n < count; n += 1) await t.submit();
  };
  const running = async () => {
    const [row] = await t.engine.queues.figures(["jobs"]);
    return row?.snapshot.running;
  };

  it("gets the same while the first is underway, which reserves once for both", async () => {
    const both = Promise.all([take("long", { waitMs: 20_000 }), take("long", { waitMs: 20_000 })]);
    await fill(6);
    const [first, second] = await both;
    expect(first).to.deep.equal(second);
    expect(await running()).to.equal(first.length);
  });

  it("gets none of the tasks of other requests under the same name", async () => {
    await fill(30);
    const names = Array.from({ length: 10 }, (_, n) => `mixed-${n}`);
    const firsts = await Promise.all(names.map((name) => take(name)));
    expect(await Promise.all(names.map((name) => take(name)))).to.deep.equal(firsts);
    expect(new Set(firsts.flat()).size).to.equal(30);
  });

  it("reserves again if the first got nothing, which is not remembered", async () => {
    expect(await take("empty")).to.deep.equal([]);
    expect(await t.redis.exists(storedKey(t.keys.tag(home()), "request", "jobs remote empty"))).to.equal(0);
    await fill(2);
    expect(await take("empty")).to.have.length(2);
  });

  it("reserves again if the tasks of the first were handed back before anybody got them", async () => {
    await fill(5);
    const { tasks, handBack } = await ask("gone", { count: 5 });
    expect(tasks).to.have.length(5);
    await handBack();
    expect(await running()).to.equal(0);
    const { handBack: handBackFirst } = await ask("gone", { count: 5 });
    expect(await take("gone", { count: 5 })).to.have.length(5);
    await handBackFirst();
    expect(await running(), "handed back though another was told of it").to.equal(5);
  });

  it("lets ticks know when its leases end", async () => {
    const due: unknown[] = [];
    t.engine.upkeep.onDue((...given) => due.push(given));
    await take("none", { leaseMs: 900 });
    expect(due).to.deep.equal([]);
    await fill(1);
    await take("one", { leaseMs: 900 });
    expect(due).to.deep.equal([[home(), 900]]);
  });

  it("is remembered no longer than its lease", async () => {
    await fill(1);
    await take("bounded");
    await take("bounded");
    const ttl = await t.redis.pttl(storedKey(t.keys.tag(home()), "request", "jobs remote bounded"));
    expect(ttl).to.be.within(1, 15_000);
  });

  describe("while the store is unreachable", () => {
    it("fails, and what was reserved without an answer goes back to the line", async () => {
      await fill(2);
      faults.reserve = "mute";
      faults.unreserve = "away";
      const error = await take("none", { count: 5 }).catch((reason: unknown) => reason);
      expect(error).to.have.property("code", "store-unavailable");
      expect(await running()).to.equal(2);
      faults = { reserve: undefined, unreserve: undefined };
      await eventually(async () => (await running()) === 0);
      expect(await take("none", { count: 5 })).to.have.length(2);
    });

    it("keeps its tasks if they were handed back on behalf of the first too late", async () => {
      await fill(2);
      faults = { reserve: "away", unreserve: "away" };
      await take("late").catch(() => undefined);
      const unreserved = new Promise<void>((resolve) => {
        replaceCall(t.engine, "unreserve", async (_, unreserve) => {
          await unreserve();
          resolve();
        });
      });
      faults.reserve = undefined;
      expect(await take("late")).to.have.length(2);
      faults.unreserve = undefined;
      await unreserved;
      expect(await running()).to.equal(2);
    });

    it("fails at once if the call fails in any other way", async () => {
      for (const error of [new ProblemError("store-full"), new TypeError("a mistake")]) {
        onReserve = () => {
          throw error;
        };
        const failed = await take(`fails-${error.name}`, { waitMs: 60_000 }).catch((reason: unknown) => reason);
        expect(failed).to.equal(error);
      }
    });

    it("is answered with what it has if the store goes away while it waits for more", async () => {
      let asked = 0;
      onReserve = () => {
        asked += 1;
        failIf(asked > 1);
      };
      await fill(1);
      expect(await take("partly", { count: 2, fillMs: 500 })).to.have.length(1);
      expect(asked).to.be.above(1);
    });
  });
});

describe("a request for work with long inputs", () => {
  let t: TestEngine;
  afterEach(() => t.close());
  const take = async () => {
    const request = { queue: "jobs", worker: "remote", reservation: "r", count: 3, leaseMs: 15_000 };
    return (await takeOrWait(t.engine, request, Date.now(), never)).tasks;
  };
  const long = JSON.stringify("x".repeat(30_000));

  it("gets them with its tasks; a task whose input is gone fails", async () => {
    t = await openEngine();
    for (const id of ["whole", "gone"]) await t.submit({ id, input: long });
    expect(await t.redis.unlink(t.key("input", "gone"))).to.equal(1);
    const tasks = await take();
    expect(tasks.map(({ id, input }) => `${id} ${input.length}`)).to.deep.equal([`whole ${long.length}`]);
    expect(await t.look("gone")).to.include({ state: "failed", attempts: 1 });
  });

  it("does not get a task whose input cannot be read at the moment, which is tried again a little later", async () => {
    t = await openEngine({
      makeLarge: (redis) => ({
        ...scriptsOf(redis),
        value: () => Promise.reject(new ProblemError("store-unavailable")),
      }),
    });
    await t.submit({ id: "unread", input: long });
    expect(await take()).to.deep.equal([]);
    const { state, dueMs, nowMs } = await t.look("unread");
    expect(state).to.equal("retrying");
    expect((dueMs ?? 0) - nowMs).to.be.at.most(1000);
  });
});
