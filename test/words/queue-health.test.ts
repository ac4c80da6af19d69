import { expect } from "chai";
import type { Queue } from "../../src/wire/queue.ts";
import { byTrouble, healthOf, slotsBeside, troubleOf } from "../../src/words/queue-health.ts";

const queue = (name: string, more: object = {}): Queue =>
  ({
    ...{ name, orphaned: false, paused: false, waiting: 0, scheduled: 0, maxWaiting: 100, running: 0, dead: 0 },
    ...{ workers: 1, slots: 8, oldestWaitingSeconds: null, resting: null, eta: null, turns: null },
    settings: { rate: { now: null } },
    ...more,
  }) as Queue;
const rate = { max: 5, per: "1s" };

describe("how queues are", () => {
  const queues = {
    dead: queue("dead", { dead: 3 }),
    alone: queue("alone", { workers: 0, waiting: 2335, maxWaiting: 1_000_000, oldestWaitingSeconds: 240 }),
    orphaned: queue("orphaned", { orphaned: true, waiting: 1 }),
    full: queue("full", { waiting: 90, scheduled: 10 }),
    resting: queue("resting", { resting: { reason: "ECONNREFUSED" } }),
    held: queue("held", { waiting: 7, eta: { rate }, settings: { rate: { now: rate } } }),
    paused: queue("paused", { paused: true, waiting: 4 }),
    busy: queue("busy", { waiting: 9 }),
    idle: queue("idle", { workers: 0 }),
    turns: queue("turns", { workers: 0, turns: { longest: null }, waiting: 8 }),
  };

  it("is told with those first that need attention, the worst first, then the longest lines", () => {
    const names = byTrouble(Object.values(queues).toReversed()).map(({ name }) => name);
    expect(names).to.deep.equal([
      "dead",
      "alone",
      "orphaned",
      "full",
      "resting",
      "held",
      "paused",
      "busy",
      "turns",
      "idle",
    ]);
    expect([queues.busy, queues.turns, queues.idle].map(troubleOf)).to.deep.equal([0, 0, 0]);
  });

  const sentences: Readonly<Record<string, readonly Queue[]>> = {
    "All 2 queues move.": [queues.busy, queues.idle],
    "The queue moves.": [queues.busy],
    "dead: 3 dead.": [queues.busy, queues.dead],
    "alone: 2,335 waiting, no worker, the oldest for 4 min; full: full with 100 tasks.": [queues.full, queues.alone],
    "orphaned: 1 waiting, no handler.": [queues.orphaned],
    "resting: resting (ECONNREFUSED), 0 waiting; held: 7 waiting, 5 a second allowed, and 1 more queue.": [
      ...[queues.resting, queues.held, queues.paused],
    ],
    "paused: paused, 4 waiting.": [queues.paused],
    "both: 1 dead, paused, 0 waiting.": [queue("both", { dead: 1, paused: true })],
  };
  for (const [sentence, of] of Object.entries(sentences))
    it(`is a sentence: ${sentence}`, () => expect(healthOf(of)).to.equal(sentence));

  it("never shows more tasks running than slots", () => {
    expect([3, 8, 9].map((running) => slotsBeside(queue("q", { running })))).to.deep.equal([8, 8, null]);
  });
});
