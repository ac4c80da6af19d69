import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import type { ReservedTask } from "../../src/store/line/reserve.ts";
import { Ahead } from "../../src/workers/ahead.ts";
import type { Slot } from "../../src/workers/slots.ts";
import { deferred } from "../helpers/deferred.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";
import { replaceCall } from "../helpers/replace-call.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const task = (id: number) => ({ id: String(id) }) as ReservedTask;

describe("tasks that are taken before there is a slot for them", () => {
  let time: FakeTime;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(() => time.end());

  /** Records what happens to the tasks. Handlers end at once while `ends` is set. */
  const open = ({ count = 1, allowed = true }: { count?: number; allowed?: boolean } = {}) => {
    const back = deferred();
    const state = { free: 0, claimed: 0, ends: false };
    const [begun, handedBack]: [string[], string[]] = [[], []];
    const ahead = new Ahead({
      allowed,
      slots: {
        count,
        takeIfFree: () => {
          if (state.free === 0) return undefined;
          state.free -= 1;
          return {} as Slot;
        },
        claim: (n) => {
          state.claimed += n;
        },
        release: (n) => {
          state.claimed -= n;
        },
      },
      run: ({ id }) => {
        begun.push(id);
        if (!state.ends) return;
        state.free += 1;
        ahead.fill();
      },
      handBack: async ({ id }) => {
        handedBack.push(id);
        await back.promise;
      },
      onRoom: () => begun.push("room"),
    });
    const notes = (times: number, tookMs: number) => {
      for (let n = 0; n < times; n += 1) ahead.note(tookMs);
    };
    return { ahead, state, begun, handedBack, back, notes };
  };

  it("are as many as there are slots, at least 16, once 16 handlers in a row have ended within a millisecond", () => {
    for (const count of [1, 50]) {
      const { ahead, notes } = open({ count });
      notes(15, 0.1);
      expect(ahead.room).to.equal(0);
      expect(ahead.add(task(1), 0)).to.equal(false);
      notes(1, 0.1);
      expect(ahead.room).to.equal(Math.max(16, count));
      notes(1, 1);
      expect(ahead.room).to.equal(0);
    }
  });

  it("do not exist without slots, nor where more than slots decides which tasks run", () => {
    for (const options of [{ count: 0 }, { allowed: false }]) {
      const { ahead, notes } = open(options);
      notes(16, 0.1);
      expect(ahead.room).to.equal(0);
    }
  });

  it("begin in their order as slots become free, each of which is claimed until then", () => {
    const { ahead, state, begun, notes } = open();
    notes(16, 0.1);
    for (const id of [1, 2, 3, 4]) ahead.add(task(id), 0);
    expect(state.claimed).to.equal(4);
    state.free = 1;
    ahead.fill();
    expect([begun, state.claimed]).to.deep.equal([["1"], 3]);
    Object.assign(state, { free: 1, ends: true });
    ahead.fill();
    expect([begun, state]).to.deep.equal([["1", "2", "3", "4"], { free: 1, claimed: 0, ends: true }]);
  });

  it("go back to their places if one waits for more than 5 ms, and keep their claims until they are there", async () => {
    const { ahead, state, begun, handedBack, back, notes } = open();
    notes(16, 0.1);
    ahead.add(task(1), 0);
    await time.pass(4);
    ahead.add(task(2), 0);
    expect(handedBack).to.deep.equal([]);
    await time.pass(2);
    expect([handedBack, state.claimed, ahead.room, begun]).to.deep.equal([["1", "2"], 2, 0, []]);
    back.resolve();
    await time.pass(1);
    expect([state.claimed, begun]).to.deep.equal([0, ["room"]]);
  });

  it("go back at once if they are to stop, and all of them if a handler has blocked the process", async () => {
    const { ahead, state, begun, handedBack, back, notes } = open();
    back.resolve();
    notes(16, 0.1);
    for (const id of [1, 2, 3]) ahead.add(task(id), 0);
    expect([ahead.drop("2"), ahead.drop("9"), handedBack]).to.deep.equal([true, false, ["2"]]);
    await time.pass(1);
    expect(state.claimed).to.equal(2);
    // Time passes, but no timer fires.
    time.jump(10);
    state.free = 1;
    ahead.fill();
    expect([handedBack, begun]).to.deep.equal([["2", "1", "3"], ["room"]]);
  });
});

describe("a worker with one slot and quick handlers", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  it("runs several tasks for some requests, one at a time, each once", async () => {
    const seen = { running: 0, max: 0, runs: [] as string[] };
    const run = async (_: unknown, { id }: { readonly id: string }) => {
      seen.running += 1;
      seen.max = Math.max(seen.max, seen.running);
      seen.runs.push(id);
      await undefined;
      seen.running -= 1;
    };
    shop = await openWorkshop([defineHandler({ queue: "jobs", concurrency: 1, run })]);
    const reserve = shop.engine.leases.reserve.bind(shop.engine.leases);
    let requests = 0;
    shop.engine.leases.reserve = (request) => {
      requests += 1;
      return reserve(request);
    };
    const ids = await Promise.all(Array.from({ length: 600 }, (_, n) => shop.submit(n)));
    await shop.worker();
    await shop.ended(String(ids.at(-1)));
    expect(seen.runs.toSorted()).to.deep.equal(ids.toSorted());
    expect(seen.max).to.equal(1);
    // Usually an eighth; on a busy machine handlers are cut off, and then not quick.
    expect(requests).to.be.below(0.9 * ids.length);
  });

  it("hands a task back whose slot went to one taken ahead, since its own death would count as a loss of the task", async () => {
    const [busy, over, replied, gate] = [deferred(), deferred(), deferred<string>(), deferred()];
    const run = async (input: unknown) => {
      if (input !== "slow") return;
      busy.resolve();
      await over.promise;
    };
    shop = await openWorkshop([defineHandler({ queue: "jobs", concurrency: 2, run })]);
    const { leases } = shop.engine;
    const reserve = leases.reserve.bind(leases);
    leases.openStandby = async () => undefined;
    let replies = 0;
    // The second reply is late: meanwhile handlers prove to be quick, and the other lane takes tasks for both slots.
    leases.reserve = async (request) => {
      const reply = await reserve(request);
      if (request.queue === "jobs") replies += 1;
      if (replies !== 2) return reply;
      expect([request.lane, request.ahead, reply.tasks.length]).to.deep.equal([0, false, 1]);
      replied.resolve(String(reply.tasks[0]?.id));
      await gate.promise;
      return reply;
    };
    const released: string[] = [];
    const restore = replaceCall(shop.engine, "release", ({ id }, release) => {
      released.push(id);
      return release();
    });
    const inputs = [...Array.from({ length: 60 }, (_, n) => n), ...Array.from({ length: 30 }, () => "slow")];
    const ids = await Promise.all(inputs.map((input) => shop.submit(input)));
    // No task waits too long for its slot, which would also hand it back.
    const now = performance.now();
    const clock = mock.method(performance, "now", () => now);
    await shop.worker();
    const late = await replied.promise;
    await busy.promise;
    gate.resolve();
    while (!released.includes(late)) await turn();
    clock.mock.restore();
    over.resolve();
    for (const id of ids) expect(await shop.ended(id)).to.include({ state: "succeeded", attempts: 1, lost: 0 });
    restore();
  });

  it("keeps no task from its place behind a slow one", async () => {
    const [gate, entered] = [deferred(), deferred()];
    const runs: string[] = [];
    const run = async (input: unknown, { id }: { readonly id: string }) => {
      runs.push(id);
      if (input !== "slow") return;
      entered.resolve();
      await gate.promise;
    };
    shop = await openWorkshop([defineHandler({ queue: "jobs", concurrency: 1, run })]);
    const inputs = [...Array.from({ length: 60 }, (_, n) => n), "slow", ...Array.from({ length: 20 }, (_, n) => n)];
    const ids = await Promise.all(inputs.map((input) => shop.submit(input)));
    await shop.worker();
    await entered.promise;
    const behind = ids.slice(61);
    const seen = () => Promise.all(behind.map((id) => shop.look(id)));
    await eventually(async () => (await seen()).every(({ index }, n) => index === n));
    for (const { attempts, lost } of await seen()) expect([attempts, lost]).to.deep.equal([0, 0]);
    gate.resolve();
    for (const id of ids) expect(await shop.ended(id)).to.include({ state: "succeeded", attempts: 1, lost: 0 });
    expect(runs.toSorted(), "each once").to.deep.equal(ids.toSorted());
  });
});
