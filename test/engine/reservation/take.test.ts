import { expect } from "chai";
import { takeOrWait } from "../../../src/engine/reservation/take.ts";
import { ProblemError } from "../../../src/errors.ts";
import { type Scripts, scriptsOf } from "../../../src/store/verbs/scripts.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storedKey, TASK } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const never = new AbortController().signal;

/** Partitions that do not answer, whether they have done what they were asked or not. */
class Faults {
  /** Asked for nothing at all. */
  readonly away = new Set<string>();
  /** Asked, but their replies are lost. */
  readonly mute = new Set<string>();
  /** Asked for tasks, but not told which are handed back. */
  readonly deaf = new Set<string>();
  /** The partitions to which tasks were handed back, or should have been. */
  readonly handedBack: string[] = [];
  /** Called before a partition is asked for tasks. */
  onReserve: (tag: string) => Promise<void> | void = () => undefined;

  /** The scripts with these faults. */
  in(scripts: Scripts): Scripts {
    return {
      ...scripts,
      reserve: async (tag, request) => {
        await this.onReserve(tag);
        this.#check(tag, this.away);
        const reserved = await scripts.reserve(tag, request);
        this.#check(tag, this.mute);
        return reserved;
      },
      unreserve: async (tag, ...rest) => {
        this.handedBack.push(tag);
        this.#check(tag, this.deaf);
        this.#check(tag, this.away);
        this.#check(tag, this.mute);
        return await scripts.unreserve(tag, ...rest);
      },
      heartbeat: async (tag, ...rest) => {
        this.#check(tag, this.away);
        return await scripts.heartbeat(tag, ...rest);
      },
    };
  }

  #check(tag: string, faulty: ReadonlySet<string>): void {
    if (faulty.has(tag)) throw new ProblemError("store-unavailable");
  }
}

function signal() {
  let give: () => void = () => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

describe("a request for work that is sent again", () => {
  let t: TestEngine;
  let faults: Faults;
  let serial = 0;
  beforeEach(async () => {
    faults = new Faults();
    t = await openEngine({ partitions: 3, makeScripts: (redis) => faults.in(scriptsOf(redis)) });
  });
  afterEach(() => t.close());

  const ask = (
    reservation: string,
    options: { count?: number; waitMs?: number; worker?: string; leaseMs?: number } = {},
  ) => {
    const { count = 3, waitMs = 0, worker = "remote", leaseMs = 15_000 } = options;
    const request = { queue: "jobs", worker, reservation, count, leaseMs };
    return takeOrWait(t.engine, request, Date.now() + waitMs, never);
  };
  const take = async (reservation: string, options: Parameters<typeof ask>[1] = {}) =>
    (await ask(reservation, options)).tasks.map(({ id, fence }) => `${id} ${fence}`);
  /** A request that asks this partition first, then those after it. */
  const askingFirst = (partition: number): string => {
    for (;;) {
      serial += 1;
      if (t.keys.partitionOf(`remote f${serial}`) === partition) return `f${serial}`;
    }
  };
  const idIn = (partition: number): string => {
    for (;;) {
      serial += 1;
      if (t.keys.partitionOf(`p${serial}`) === partition) return `p${serial}`;
    }
  };
  const fill = async (partition: number, count: number) => {
    for (let n = 0; n < count; n += 1) await t.submit({ id: idIn(partition) });
  };
  const running = async () => {
    const [row] = await t.engine.queues.figures(["jobs"]);
    return row?.snapshot.running;
  };

  it("is answered with the very same tasks, whichever partitions they are in", async () => {
    for (const partition of [0, 1, 2]) await fill(partition, 40);
    for (let n = 0; n < 20; n += 1) {
      const first = await take(`r${n}`, { count: 5 });
      expect(first).to.have.length(5);
      expect(await take(`r${n}`, { count: 5 })).to.deep.equal(first);
    }
    expect(await running()).to.equal(100);
  });

  it("gets the same if work has arrived meanwhile in a partition that had none", async () => {
    for (const partition of [0, 1, 2]) {
      const reservation = `into-${partition}`;
      await fill(partition, 2);
      const first = await take(reservation, { count: 5 });
      expect(first).to.have.length(2);
      for (const other of [0, 1, 2]) await fill(other, 5);
      expect(await take(reservation, { count: 5 })).to.deep.equal(first);
      expect(await running()).to.equal(2);
      await take(`rest-${partition}`, { count: 100 });
      for (const id of first) await complete(id);
      await completeAll();
    }
  });

  it("gets the same at every point while the first is underway", async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      const [arrived, opened] = [signal(), signal()];
      let asked = 0;
      faults.onReserve = async () => {
        asked += 1;
        if (asked === turn + 1) {
          // Here the first waits until the second has been answered, and there is work where there was none.
          for (const partition of [0, 1, 2]) await fill(partition, 4);
          arrived.give();
          await opened.given;
        }
      };
      await fill(turn % 3, 1);
      const first = take(`over-${turn}`, { count: 5 });
      await Promise.race([arrived.given, first]);
      faults.onReserve = () => undefined;
      const second = await take(`over-${turn}`, { count: 5 });
      opened.give();
      expect(second).to.deep.equal(await first);
      expect(await running()).to.equal(second.length);
      await take(`clean-${turn}`, { count: 100 });
      await completeAll();
    }
  });

  it("shares the wait of the first one, and reserves once for both", async () => {
    const both = Promise.all([take("long", { waitMs: 20_000 }), take("long", { waitMs: 20_000 })]);
    for (const partition of [2, 0, 1]) await fill(partition, 2);
    const [first, second] = await both;
    expect(first).to.deep.equal(second);
    expect(await running()).to.equal(first.length);
  });

  it("gets none of the tasks of other requests under the same name", async () => {
    for (const partition of [0, 1, 2]) await fill(partition, 10);
    const names = Array.from({ length: 10 }, (_, n) => `mixed-${n}`);
    const firsts = await Promise.all(names.map((name) => take(name)));
    const seconds = await Promise.all(names.map((name) => take(name)));
    expect(seconds).to.deep.equal(firsts);
    expect(new Set(firsts.flat()).size).to.equal(30);
  });

  it("reserves again if the first got nothing", async () => {
    expect(await take("empty")).to.deep.equal([]);
    await fill(1, 2);
    expect(await take("empty")).to.have.length(2);
  });

  it("reserves again if the tasks of the first request were handed back before anybody got them", async () => {
    for (const partition of [0, 1, 2]) await fill(partition, 2);
    const { tasks, handBack } = await ask("gone", { count: 5 });
    expect(tasks).to.have.length(5);
    await handBack();
    expect(await running()).to.equal(0);
    expect(await take("gone", { count: 5 })).to.have.length(5);
    const again = await ask("gone", { count: 5 });
    await again.handBack();
    expect(await running(), "handed back though another was told of it").to.equal(5);
  });

  it("lets ticks know when its leases end", async () => {
    const due: unknown[] = [];
    t.engine.maintenance.onDue((...given) => due.push(given));
    await take("none", { leaseMs: 900 });
    expect(due).to.deep.equal([]);
    await fill(1, 1);
    await take("one", { leaseMs: 900 });
    expect(due).to.deep.equal([[1, 900]]);
  });

  it("is remembered no longer than its lease", async () => {
    await fill(1, 1);
    await take("bounded");
    const ttls = await Promise.all(
      t.keys.tags.map((tag) => t.redis.pttl(storedKey(tag, "request", "jobs remote bounded"))),
    );
    for (const ttl of ttls) expect(ttl).to.be.within(1, 15_000);
  });

  it("is remembered for a minute if it got nothing, however long its lease", async () => {
    const leaseMs = 86_400_000;
    await take("nothing", { leaseMs });
    await take("nothing", { leaseMs });
    await fill(1, 1);
    await take("something", { leaseMs });
    const ttl = (partition: number, reservation: string) =>
      t.redis.pttl(storedKey(t.keys.tag(partition), "request", `jobs remote ${reservation}`));
    for (const partition of t.keys.tags.keys()) expect(await ttl(partition, "nothing")).to.be.within(1, 60_000);
    expect(await ttl(1, "something")).to.be.above(leaseMs / 2);
  });

  describe("while a partition is unreachable", () => {
    it("gets the tasks of the other partitions, and no task is left without a worker", async () => {
      for (const partition of [0, 1, 2]) {
        const tag = t.keys.tag(partition);
        for (const all of [0, 1, 2]) await fill(all, 4);
        faults.mute.add(tag);
        const first = await take(`away-${partition}`, { count: 10 });
        expect(first).to.have.length(8);
        faults.mute.delete(tag);
        // What it had given before its reply was lost goes back to the line.
        await eventually(async () => (await running()) === 8);
        expect(await take(`away-${partition}`, { count: 10 })).to.deep.equal(first);
        await take(`rest-${partition}`, { count: 100 });
        await completeAll();
      }
    });

    it("gets the same if the partition is back before it is sent again", async () => {
      for (const partition of [0, 1, 2]) {
        const tag = t.keys.tag(partition);
        for (const all of [0, 1, 2]) await fill(all, 5);
        faults.away.add(tag);
        let asked = false;
        faults.onReserve = (of) => {
          asked ||= of === tag;
        };
        const first = await take(`back-${partition}`, { count: 5 });
        faults.away.delete(tag);
        if (asked)
          await eventually(
            async () => (await t.redis.exists(storedKey(tag, "request", `jobs remote back-${partition}`))) === 1,
          );
        expect(await take(`back-${partition}`, { count: 5 })).to.deep.equal(first);
        expect(await running()).to.equal(5);
        await take(`rest-${partition}`, { count: 100 });
        await completeAll();
      }
    });

    it("gets the same, and no more, if the partition gives tasks of its own when it is back", async () => {
      const [back = ""] = t.keys.tags;
      faults.away.add(back);
      // As if the process that sent the first one had ended: nobody tells the partition.
      faults.deaf.add(back);
      await fill(1, 3);
      await fill(2, 2);
      const request = askingFirst(0);
      const first = await take(request, { count: 5 });
      expect(first).to.have.length(5);
      faults.away.delete(back);
      await fill(0, 2);
      expect(await take(request, { count: 5 })).to.deep.equal(first);
      faults.deaf.delete(back);
      // What it had given too much goes back to the line.
      await eventually(async () => (await running()) === 5);
    });

    it("reserves again if the first got nothing from those that answered", async () => {
      const [, away = ""] = t.keys.tags;
      faults.away.add(away);
      faults.deaf.add(away);
      const request = askingFirst(0);
      expect(await take(request)).to.deep.equal([]);
      faults.away.delete(away);
      await fill(0, 2);
      expect(await take(request)).to.have.length(2);
      faults.deaf.delete(away);
    });

    it("keeps the tasks of a partition that has come back while it waited", async () => {
      const [away = ""] = t.keys.tags;
      faults.away.add(away);
      const polled = signal();
      let asked = 0;
      faults.onReserve = () => {
        asked += 1;
        if (asked === 3) polled.give();
      };
      const waiting = take(askingFirst(0), { waitMs: 60_000 });
      await polled.given;
      faults.away.delete(away);
      await fill(0, 1);
      expect(await waiting).to.have.length(1);
      expect(faults.handedBack).to.deep.equal([]);
      expect(await running()).to.equal(1);
    });

    it("fails at once if a partition fails in any other way", async () => {
      const [, broken = ""] = t.keys.tags;
      for (const error of [new ProblemError("store-full"), new TypeError("a mistake")]) {
        faults.onReserve = (tag) => {
          if (tag === broken) throw error;
        };
        const failed = await take(`fails-${error.name}`, { waitMs: 60_000 }).catch((reason: unknown) => reason);
        expect(failed).to.equal(error);
      }
    });

    it("is answered with what it has if the store goes away while it waits for more", async () => {
      let asked = 0;
      faults.onReserve = () => {
        asked += 1;
        if (asked > 3) throw new ProblemError("store-unavailable");
      };
      await fill(0, 1);
      const request = { queue: "jobs", worker: "remote", reservation: "partly", count: 2, leaseMs: 15_000, fillMs: 30 };
      const { tasks } = await takeOrWait(t.engine, request, Date.now(), never);
      expect(tasks).to.have.length(1);
      expect(asked).to.be.above(3);
    });

    it("fails if no partition answers, and hands back what was reserved", async () => {
      for (const partition of [0, 1, 2]) await fill(partition, 2);
      for (const tag of t.keys.tags) faults.mute.add(tag);
      const error = await take("none", { count: 5 }).catch((reason: unknown) => reason);
      expect(error).to.have.property("code", "store-unavailable");
      faults.mute.clear();
      await eventually(async () => (await running()) === 0);
      expect(await take("none", { count: 6 })).to.have.length(6);
    });
  });

  async function complete(task: string): Promise<void> {
    const [id = "", fence = ""] = task.split(" ");
    const result = { status: 204, contentType: null, headers: {}, body: Buffer.alloc(0) };
    await t.engine.leases.complete({ queue: "jobs", id, fence }, result, t.settings);
  }

  async function completeAll(): Promise<void> {
    for (const { id } of (await t.engine.queues.page("leases", { queue: "jobs", after: null, limit: 200 })).entries) {
      const fence = await t.redis.hget(storedKey(t.keys.tag(t.keys.partitionOf(id)), "task", id), TASK.run);
      await complete(`${id} ${fence}`);
    }
  }
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
