import { expect } from "chai";
import { type Process, VirtualTime } from "./virtual-time.ts";

describe("virtual time", () => {
  it("keeps the order of the events of a process that is paused again before it goes on", async () => {
    const time = new VirtualTime(() => 0.5);
    const store: Process = { name: "store", pid: 1, pausedUntil: 0, isDead: false };
    const other: Process = { name: "other", pid: 2, pausedUntil: 0, isDead: false };
    const happened: string[] = [];
    const done = new Promise<void>((resolve) => {
      time.planAt(store, 30, () => happened.push(`third at ${time.nowMs}`));
      time.planAt(store, 10, () => happened.push(`first at ${time.nowMs}`));
      time.planAt(store, 20, () => happened.push(`second at ${time.nowMs}`));
      time.planAt(other, 5, () => time.pause(store, 15));
      time.planAt(other, 15, () => time.pause(store, 85));
      time.planAt(other, 200, resolve);
    });
    await time.until(done, 1000);
    expect(happened).to.deep.equal(["first at 100", "second at 100", "third at 100"]);
  });
});
