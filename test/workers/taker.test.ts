import { expect } from "chai";
import type { Engine } from "../../src/engine/engine.ts";
import type { QueueSettings } from "../../src/engine/settings.ts";
import type { Reservation, ReserveAnswer, ReservedTask } from "../../src/store/line/reserve.ts";
import type { Standby } from "../../src/store/line/standby.ts";

import { type Slot, Slots } from "../../src/workers/slots.ts";
import { Taker, type TakerParts } from "../../src/workers/taker.ts";
import { attemptOf } from "../helpers/attempt.ts";
import { type FakeTime, fakeTime } from "../helpers/fake-time.ts";
import { recordingLog } from "../helpers/recording-log.ts";

const LEASE_MS = 30_000;

describe("the requests of a worker for work", () => {
  let time: FakeTime;
  let taker: Taker;
  beforeEach(() => {
    time = fakeTime();
  });
  afterEach(async () => {
    await taker.stop();
    time.end();
  });

  interface Request extends Reservation {
    /** How long it may wait in the store, ms. */
    readonly waitMs?: number;
  }
  interface Given extends Partial<Pick<TakerParts, "lane">> {
    readonly min?: number;
    readonly max?: number;
    /** The tasks that wait. */
    readonly line: string[];
    readonly slots?: number;
    readonly settings?: Partial<QueueSettings>;
    /** For how long the rate allows no start, ms. */
    readonly pauseMs?: () => number;
    /** Whether handlers end while they are called. */
    readonly endsAtOnce?: boolean;
    readonly isPaused?: () => boolean;
    readonly ahead?: () => boolean;
  }

  /** A taker of this line, which has not started. */
  const open = ({ line, slots: count = 4, settings, lane = 0, ...given }: Given) => {
    const requests: Request[] = [];
    const taken: string[] = [];
    /** Of those that were taken: whether the store knows that there may be no slot. */
    const knownAhead: boolean[] = [];
    const handedBack: string[] = [];
    const held: Slot[] = [];
    const answers = new Map<string, ReserveAnswer>();
    /** Which requests fail: before or after they are carried out. */
    const failing = { before: false, after: false };
    const underway: { until: Promise<void> | undefined } = { until: undefined };
    const carryOut = ({ reservation, count: wanted }: Request): ReserveAnswer => {
      const pauseMs = given.pauseMs?.() ?? 0;
      const ids = pauseMs > 0 || given.isPaused?.() ? [] : line.splice(0, wanted);
      const tasks = ids.map((id) => ({ id }) as ReservedTask);
      const answer = {
        ...{ tasks, waiting: given.isPaused?.() ? null : line.length, pauseMs },
      } as unknown as ReserveAnswer;
      answers.set(reservation, answer);
      return answer;
    };
    const reserve = async (reservation: Reservation, waitMs?: number) => {
      const request = { ...reservation, ...(waitMs !== undefined && { waitMs }) };
      requests.push(request);
      await underway.until;
      if (failing.before) throw new Error("refused");
      const answer = answers.get(reservation.reservation) ?? carryOut(request);
      if (failing.after) throw new Error("cut off");
      return answer;
    };
    const { log, messages } = recordingLog();
    const wake = () => taker.wake();
    const slots = new Slots({ count, perSlot: 1, log, onFreed: wake, onRoom: wake });
    const known = { waiting: 0 };
    taker = new Taker({
      ...{ worker: "w", slots, line: known, log, lane, min: () => given.min ?? 1, max: () => given.max ?? count },
      engine: { leases: { reserve } } as unknown as Engine,
      settings: attemptOf({ settings: { leaseMs: LEASE_MS, ...settings } }).settings,
      ahead: given.ahead ?? (() => false),
      run: ({ id }, _, ahead) => {
        taken.push(id);
        knownAhead.push(ahead);
        held.push(slots.take());
        if (given.endsAtOnce) end();
      },
      handBack: ({ id }) => handedBack.push(id),
    });
    /** The handlers of all tasks end. */
    const end = () => {
      for (const slot of held.splice(0)) {
        slot.ended();
        slot.stored();
      }
    };
    return { requests, taken, knownAhead, handedBack, slots, known, line, failing, underway, messages, end };
  };
  const countsOf = (requests: readonly Request[]) => requests.map(({ count }) => count);

  it("ask for at most so many tasks at once, one request after the other while tasks wait", async () => {
    const { requests, taken } = open({ line: ["a", "b", "c", "d"], max: 2, slots: 8 });
    taker.start();
    await time.pass(100);
    expect([countsOf(requests), taken.join("")]).to.deep.equal([[2, 2], "abcd"]);
  });

  it("follow each other as long as tasks end at once, and no longer", async () => {
    const line = Array.from({ length: 9 }, (_, n) => String(n));
    const { requests, taken } = open({ line, slots: 2, endsAtOnce: true });
    taker.start();
    await time.pass(100);
    expect(taken.join("")).to.equal("012345678");
    expect(requests.length).to.be.within(5, 7);
  });

  it("are sent again after a while if there was work without a slot", async () => {
    const { requests, slots, known } = open({ line: ["a"] });
    slots.claim(4);
    known.waiting = 1;
    taker.start();
    await time.pass(1000);
    slots.release(4);
    expect(requests).to.deep.equal([]);
    await time.pass(1500);
    expect(requests).to.have.length(1);
  });

  it("say again what they said when they are repeated, also whether there may be no slot for their tasks", async () => {
    let isAhead = false;
    const { requests, knownAhead, failing } = open({ line: ["a", "b"], max: 1, ahead: () => isAhead });
    failing.after = true;
    taker.start();
    await time.pass(25);
    Object.assign(failing, { after: false });
    isAhead = true;
    await time.pass(1000);
    expect(requests.slice(0, 3).map(({ reservation, ahead }) => [reservation, ahead])).to.deep.equal([
      ...[
        ["1", false],
        ["1", false],
        ["3", true],
      ],
    ]);
    expect(knownAhead).to.deep.equal([false, true]);
  });

  it("are not sent for an empty line until something happens; of another lane only for enough tasks", async () => {
    const { requests, line } = open({ line: [] });
    taker.start();
    await time.pass(60_000);
    expect(requests).to.have.length(1);
    line.push("a");
    taker.notice(false);
    await time.pass(25);
    expect(requests).to.have.length(2);
    await taker.stop();
    taker.notice(false);
    await time.pass(60_000);
    expect(requests).to.have.length(2);

    const other = open({ line: ["a", "b", "c"], lane: 1, min: 3, max: 3, slots: 9 });
    taker.start();
    await time.pass(100);
    other.known.waiting = 2;
    taker.wake();
    await time.pass(100);
    expect(other.requests).to.deep.equal([]);
    other.known.waiting = 3;
    taker.wake();
    await time.pass(100);
    expect(other.requests.map(({ count, lane }) => [count, lane])).to.deep.equal([[3, 1]]);
  });

  describe("that wait in the store", () => {
    /** A connection on which requests wait until a test answers. */
    const standbyOf = (given: ReturnType<typeof open>, isUsable = true) => {
      const waits: { readonly request: Reservation; readonly waitMs: number; answer(fails?: boolean): void }[] = [];
      const calls: string[] = [];
      const standby = {
        usable: isUsable,
        waiting: false,
        cut: async () => {
          calls.push("cut");
          waits.at(-1)?.answer();
        },
        abandon: async () => calls.push("abandoned"),
        reserve: (request: Reservation, waitMs: number) =>
          new Promise<ReserveAnswer>((resolve, reject) => {
            standby.waiting = true;
            const answer = (fails = false) => {
              standby.waiting = false;
              const ids = given.line.splice(0, request.count);
              const tasks = ids.map((id) => ({ id }) as ReservedTask);
              if (fails) reject(new Error("cut off"));
              else resolve({ tasks, waiting: given.line.length, pauseMs: 0 } as unknown as ReserveAnswer);
            };
            waits.push({ request, waitMs, answer });
          }),
      };
      taker.start(standby as unknown as Standby);
      return { standby, waits, calls };
    };

    it("are sent when the line is empty and a slot is free, for a while that is short beside a lease", async () => {
      for (const [leaseMs, longestMs] of [
        [LEASE_MS, 3000],
        [4000, 1000],
      ] as const) {
        const given = open({ line: ["a"], settings: { leaseMs } });
        const { waits } = standbyOf(given);
        await time.pass(100);
        expect([given.requests.length, given.taken]).to.deep.equal([1, ["a"]]);
        expect(waits.map(({ waitMs }) => waitMs)).to.deep.equal([longestMs]);
        // Others may use the slots meanwhile.
        expect(given.slots.free).to.equal(3);
        await taker.stop();
      }
      const given = open({ line: ["a"], slots: 1 });
      const { waits } = standbyOf(given);
      await time.pass(100);
      expect(waits).to.deep.equal([]);
    });

    it("end for other work and at the stop", async () => {
      const given = open({ line: [], slots: 1 });
      const { waits, calls } = standbyOf(given);
      await time.pass(100);
      given.line.push("a", "b");
      waits[0]?.answer();
      await time.pass(100);
      expect([given.taken, calls]).to.deep.equal([["a"], []]);
      given.end();
      await time.pass(100);
      given.end();
      await time.pass(100);
      taker.notice(false);
      expect(calls.splice(0)).to.deep.equal(["cut"]);
      await time.pass(100);
      await taker.stop();
      expect(calls).to.deep.equal(["cut"]);
    });

    it("come after those for tasks that wait already, and for a slot that has become free", async () => {
      const given = open({ line: ["a", "b", "c"], max: 1 });
      const { waits, calls } = standbyOf(given);
      await time.pass(25);
      expect([given.requests.length, given.taken, calls]).to.deep.equal([3, ["a", "b", "c"], []]);
      await time.pass(100);
      expect(waits).to.have.length(1);
      await taker.stop();

      const other = open({ line: ["a"], slots: 1 });
      const more = standbyOf(other);
      await time.pass(100);
      expect([other.requests.length, more.waits.length]).to.deep.equal([1, 0]);
      other.end();
      await time.pass(100);
      expect([other.requests.length, more.waits.length]).to.deep.equal([2, 1]);
    });

    it("are not sent while the rate holds tasks back", async () => {
      let pauseMs = 300;
      const given = open({ line: ["a"], pauseMs: () => pauseMs });
      const { waits } = standbyOf(given);
      await time.pass(250);
      pauseMs = 0;
      await time.pass(100);
      expect([given.requests.length, given.taken]).to.deep.equal([2, ["a"]]);
      await time.pass(50);
      expect(waits).to.have.length(1);
    });

    it("are replaced by a look every other second while that cannot be", async () => {
      const given = open({ line: [] });
      standbyOf(given, false);
      await time.pass(10_000);
      expect(given.requests.length).to.be.within(5, 7);
    });

    it("are repeated without waiting where they were sent, or elsewhere once none of them can run there", async () => {
      const given = open({ line: [] });
      const { standby, waits, calls } = standbyOf(given);
      await time.pass(100);
      given.requests.length = 0;
      waits[0]?.answer(true);
      await time.pass(600);
      expect(waits.map(({ waitMs }) => waitMs)).to.deep.equal([3000, 0]);
      standby.usable = false;
      waits[1]?.answer(true);
      await time.pass(600);
      expect(calls).to.deep.equal(["abandoned"]);
      const repeated = [...waits.map(({ request }) => request), ...given.requests.slice(0, 1)];
      expect(repeated).to.have.length(3);
      expect(new Set(repeated.map(({ reservation }) => reservation))).to.have.property("size", 1);
    });
  });
});
