import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { Slots } from "../../src/workers/slots.ts";
import { deferred } from "../helpers/deferred.ts";
import { fakeTime } from "../helpers/fake-time.ts";
import { recordingLog } from "../helpers/recording-log.ts";

describe("the room in a worker's slots", () => {
  /** Two slots with room for three tasks each; records what they call back. */
  const open = ({
    count = 2,
    perSlot = 3,
    ...others
  }: {
    count?: number;
    perSlot?: number;
    more?: () => number;
    ahead?: () => number;
  } = {}) => {
    const calls: string[] = [];
    const call = (name: string) => () => {
      calls.push(name);
    };
    const { log, messages } = recordingLog();
    const slots = new Slots({
      ...{ count, perSlot, log, ...others },
      ...{ onFreed: call("freed"), onRoom: call("room") },
    });
    const taken = (n: number) => Array.from({ length: n }, () => slots.take());
    return { slots, calls, messages, taken };
  };

  it("is that of the slots without a handler, less what is requested already", () => {
    const { slots, taken } = open();
    expect([slots.count, slots.free, slots.idle]).to.deep.equal([2, 6, 2]);
    const [one] = taken(1);
    expect([slots.free, slots.idle]).to.deep.equal([3, 1]);
    slots.claim(1);
    expect([slots.free, slots.idle]).to.deep.equal([2, 0]);
    slots.claim(4);
    expect([slots.free, slots.idle]).to.deep.equal([0, 0]);
    slots.release(5);
    one?.ended();
    expect([slots.free, slots.idle]).to.deep.equal([6, 2]);
  });

  it("can be more for calls that others may join, which are no idle slots", () => {
    const { slots, taken } = open({ more: () => 2 });
    taken(2);
    expect([slots.free, slots.idle]).to.deep.equal([2, 0]);
    expect(slots.takeIfFree()).to.equal(undefined);
  });

  it("is there as soon as a handler has ended, but only once more for each slot while ends cannot be stored", () => {
    const { slots, calls } = open({ perSlot: 1 });
    const taken = [];
    for (let n = 4; n > 0; n -= 1) {
      expect(slots.free).to.equal(Math.min(2, n));
      const slot = slots.takeIfFree();
      slot?.ended();
      taken.push(slot);
    }
    expect([slots.free, slots.takeIfFree()]).to.deep.equal([0, undefined]);
    calls.length = 0;
    for (const slot of taken) slot?.stored();
    // The other ends leave no more room than there are slots.
    expect(calls).to.deep.equal(["room", "room"]);
    expect(slots.free).to.equal(2);
  });

  it("can be more for tasks that are taken ahead, which begin only in a free slot", () => {
    const { slots, calls, taken } = open({ perSlot: 1, ahead: () => 4 });
    const all = taken(2);
    expect([slots.free, slots.idle, slots.takeIfFree()]).to.deep.equal([4, 0, undefined]);
    slots.claim(4);
    for (const slot of all) slot.ended();
    expect([slots.free, slots.idle]).to.deep.equal([2, 0]);
    // As many ends again as there is room for may wait for being stored.
    for (let n = 2; n < 12; n += 1) taken(1)[0]?.ended();
    expect([slots.free, slots.takeIfFree()]).to.deep.equal([0, undefined]);
    calls.length = 0;
    all[0]?.stored();
    expect(calls, "a slot can be taken, although more is claimed than there is room for").to.deep.equal(["room"]);
  });

  it("says since when the time of a task taken ahead counts: since the slot is free that was free for longest, or since it was requested", () => {
    const time = fakeTime();
    try {
      const { slots } = open({ perSlot: 1, ahead: () => 4 });
      const at = performance.now();
      const [one, two] = [slots.take(at - 3), slots.take(at - 2)];
      expect([one.since, two.since]).to.deep.equal([at - 3, at - 2]);
      two.ended();
      time.jump(5);
      one.ended();
      time.jump(5);
      expect([slots.take(at - 1).since, slots.take(at + 7).since, open().slots.take(at).since]).to.deep.equal([
        ...[at, at + 7, undefined],
      ]);
    } finally {
      time.end();
    }
  });

  it("is announced when a handler ends, once", () => {
    const { calls, taken } = open();
    const [slot] = taken(1);
    slot?.ended();
    slot?.ended();
    slot?.stored();
    expect(calls.splice(0)).to.deep.equal(["freed"]);
  });

  it("does not count handlers that ignore their signal, as many as there are slots; further ones keep theirs", async () => {
    const { slots, calls, messages, taken } = open({ perSlot: 1 });
    const ends = Array.from({ length: 3 }, () => deferred());
    for (const [n, { promise }] of ends.entries()) {
      const [slot] = taken(1);
      slot?.ended(promise);
      slot?.stored();
      expect(messages, String(n)).to.have.length(n === 2 ? 1 : 0);
    }
    expect(slots.free).to.equal(1);
    calls.length = 0;
    ends[0]?.resolve();
    await turn();
    expect([slots.free, calls]).to.deep.equal([2, ["room"]]);
  });
});
