import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import type { Occupancy } from "../../src/workers/occupancy.ts";
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
    const occupancy = { closed: false, claimed: false, begin: call("begun"), end: call("ended") };
    const { log, messages } = recordingLog();
    const slots = new Slots({
      ...{ count, perSlot, occupancy: occupancy as unknown as Occupancy, log, more },
      ...{ onFreed: call("freed"), onReleased: call("released"), onRoom: call("room") },
    });
    const taken = (n: number) => Array.from({ length: n }, () => slots.take());
    return { slots, calls, occupancy, messages, taken };
  };

  it("is that of the slots without a handler, less what is requested already", () => {
    const { slots, taken } = open();
    expect([slots.capacity, slots.free, slots.idle]).to.deep.equal([6, 6, 2]);
    const [one] = taken(1);
    expect([slots.free, slots.idle]).to.deep.equal([3, 1]);
    slots.claim(1);
    expect([slots.free, slots.idle]).to.deep.equal([2, 0]);
    slots.claim(4);
    expect([slots.free, slots.idle]).to.deep.equal([0, 0]);
    slots.release(5);
    one?.settled();
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
    const places = [];
    for (let n = 4; n > 0; n -= 1) {
      expect(slots.free).to.equal(Math.min(2, n));
      const place = slots.takeIfFree();
      place?.settled();
      places.push(place);
    }
    expect([slots.free, slots.takeIfFree()]).to.deep.equal([0, undefined]);
    calls.length = 0;
    for (const place of places) place?.over();
    // The other ends leave no more room than there are slots.
    expect(calls).to.deep.equal(["room", "room"]);
    expect(slots.free).to.equal(2);
  });

  it("is announced when a handler ends, once, and when a claim is released", () => {
    const { slots, calls, taken } = open();
    const [place] = taken(1);
    place?.settled();
    place?.settled();
    place?.over();
    expect(calls.splice(0)).to.deep.equal(["begun", "ended", "freed"]);
    slots.claim(1);
    slots.release(0);
    expect(calls).to.deep.equal([]);
    slots.release(1);
    expect(calls).to.deep.equal(["released"]);
  });

  it("is not there while a suspect has this process for itself", () => {
    const { slots, occupancy } = open({ more: () => 2 });
    occupancy.closed = true;
    expect([slots.free, slots.idle, slots.takeIfFree()]).to.deep.equal([0, 0, undefined]);
  });

  it("lets a suspect begin beside others unless one is or wants to be alone; in a child unless one is alone", () => {
    const { slots, occupancy, taken } = open();
    const admitted = () => (["in a child", "beside others"] as const).map((how) => slots.admits(how));
    expect(admitted()).to.deep.equal([true, true]);
    occupancy.closed = true;
    expect(admitted()).to.deep.equal([true, false]);
    occupancy.claimed = true;
    expect(admitted()).to.deep.equal([false, false]);
    Object.assign(occupancy, { closed: false, claimed: false });
    taken(1);
    slots.claim(1);
    expect(admitted()).to.deep.equal([false, false]);
  });

  it("does not count handlers that ignore their signal, as many as there are slots; further ones keep theirs", async () => {
    const { slots, calls, messages, taken } = open({ perSlot: 1 });
    const ends = Array.from({ length: 3 }, () => deferred());
    for (const [n, { promise }] of ends.entries()) {
      const [place] = taken(1);
      place?.settled(promise);
      place?.over();
      expect(messages, String(n)).to.have.length(n === 2 ? 1 : 0);
    }
    expect(slots.free).to.equal(1);
    expect(calls.filter((call) => call === "ended")).to.deep.equal([]);
    calls.length = 0;
    ends[0]?.resolve();
    await turn();
    expect([slots.free, calls]).to.deep.equal([2, ["ended", "freed"]]);
  });
});
