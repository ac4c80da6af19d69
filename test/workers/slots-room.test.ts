import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { Slots } from "../../src/workers/slots.ts";
import { deferred } from "../helpers/deferred.ts";
import { recordingLog } from "../helpers/recording-log.ts";

describe("the room in a worker's slots", () => {
  /** Two slots with room for three tasks each; records what they call back. */
  const open = ({ count = 2, perSlot = 3, more }: { count?: number; perSlot?: number; more?: () => number } = {}) => {
    const calls: string[] = [];
    const call = (name: string) => () => {
      calls.push(name);
    };
    const { log, messages } = recordingLog();
    const slots = new Slots({
      ...{ count, perSlot, log, more },
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
    expect([slots.free, calls]).to.deep.equal([2, ["freed"]]);
  });
});
