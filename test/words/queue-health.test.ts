import { expect } from "chai";
import type { Incident } from "../../src/wire/operations.ts";
import type { Queue } from "../../src/wire/queue.ts";
import { allWell, byTrouble, slotsBeside } from "../../src/words/queue-health.ts";

const queue = (name: string, more: object = {}): Queue => ({ name, waiting: 0, slots: 8, ...more }) as Queue;

describe("how queues are", () => {
  it("is told with those first of which something is wrong, the worst first, then the longest lines", () => {
    const queues = [queue("idle"), queue("busy", { waiting: 9 }), queue("paused"), queue("also"), queue("dead")];
    const incidents = ["dead", null, "paused", "dead"].map((name) => ({ queue: name }) as Incident);
    expect(
      byTrouble(queues, incidents)
        .map(({ name }) => name)
        .join(),
    ).to.equal("dead,paused,busy,also,idle");
    expect([allWell(queues), allWell(queues.slice(1, 2))].join()).to.equal("All 5 queues move.,The queue moves.");
  });

  it("never shows more tasks running than slots", () => {
    expect([3, 8, 9].map((running) => slotsBeside(queue("q", { running })))).to.deep.equal([8, 8, null]);
  });
});
