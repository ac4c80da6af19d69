import { expect } from "chai";
import { estimate } from "../../../src/engine/estimates/estimate.ts";
import * as wanted from "../../../src/engine/estimates/slots-wanted.ts";
import { randomOf } from "../../shared/random.ts";
import { NO_TIMES, serviceTimes } from "../../shared/service-times.ts";

const snapshot = {
  waiting: 0,
  running: 0,
  paused: false,
  resting: false,
  workers: 1,
  ...serviceTimes(10_000),
};

const slotsWanted = (
  snapshot: Parameters<typeof wanted.slotsWanted>[0]["snapshot"],
  targetMs: number | undefined,
  acceptedLastMinute = 0,
  finishedLastMinute = 0,
) => wanted.slotsWanted({ snapshot, acceptedLastMinute, finishedLastMinute }, targetMs);

/**
 * Tasks of about a second arrive by chance, twenty a second, for half an hour; every 15 s there are as many slots as are wanted then.
 * @returns which share of the tasks waited longer than the target, and how many slots there were on average
 */
function autoscale(targetMs: number, seed: number): { late: number; slots: number } {
  const random = randomOf(seed);
  const exponential = (mean: number) => -mean * Math.log(1 - random());
  const line: number[] = [];
  let running: number[] = [];
  const arrivals: number[] = [];
  let [slots, total, late, scaled, slotSum] = [1, 0, 0, 0, 0];
  const LONG_MS = 30 * 60_000;
  let nextArrival = exponential(50);
  for (let now = 0; now < LONG_MS; ) {
    const nextEnd = Math.min(...running);
    const nextScaling = scaled * 15_000;
    now = Math.min(nextArrival, nextEnd, nextScaling);
    if (now === nextArrival) {
      line.push(now);
      arrivals.push(now);
      nextArrival = now + exponential(50);
    } else if (now === nextEnd) running.splice(running.indexOf(now), 1);
    else {
      while ((arrivals[0] ?? now) < now - 60_000) arrivals.shift();
      const figures = { ...snapshot, ...serviceTimes(1000), waiting: line.length, running: running.length };
      slots = slotsWanted(figures, targetMs, arrivals.length) ?? Number.NaN;
      slotSum += slots;
      scaled += 1;
    }
    while (running.length < slots && line.length > 0) {
      // The first minutes, in which nothing is known yet, do not count.
      if (now > 5 * 60_000) {
        total += 1;
        late += now - (line[0] ?? now) > targetMs ? 1 : 0;
      }
      line.shift();
      running = [...running, now + exponential(1000)];
    }
  }
  return { late: late / total, slots: slotSum / scaled };
}

describe("the slots that start a newcomer within the target wait", () => {
  const unknown = { ...NO_TIMES };
  const busy = { waiting: 15, running: 4 };
  const cold = { ...unknown, waiting: 5, workers: 0 };
  const limited = { waiting: 3475, running: 5, ...serviceTimes(900), rate: { max: 5, perMs: 1000, starts: [] } };
  /** Of 40 tasks a second of 2 s, for 46 s so far. */
  const arriving = { running: 80, ...serviceTimes(2000) };
  const S = 10_000;
  type Row = readonly [
    of: object,
    targetMs: number | undefined,
    slots: number | null,
    accepted?: number,
    finished?: number,
  ];
  const ROWS: Readonly<Record<string, readonly Row[]>> = {
    "are none after a minute without work, so that an autoscaler may stop the last worker": [
      ...[S, undefined].flatMap((targetMs): Row[] => [
        [{}, targetMs, 0],
        [{ ...unknown, workers: 0 }, targetMs, 0],
        [{ waiting: 9, startable: 0 }, targetMs, 0],
      ]),
    ],
    "are one for an empty queue that had work in the last minute, even before the first task has ended": [
      ...(
        [
          [1, 0],
          [0, 1],
          [5, 5],
        ] as const
      ).map(([accepted, finished]): Row => [{}, S, 1, accepted, finished]),
      [unknown, S, 1, 1],
    ],
    "are at least one with work and no worker, so that an autoscaler starts the first": [
      [cold, S, 1],
      [cold, undefined, 1],
      [{ ...cold, waiting: 0, running: 1 }, undefined, 1],
      [{ waiting: 19, workers: 0 }, S, 10],
    ],
    "are one without a target while there is work that may start or runs, else none": [
      [{ waiting: 5 }, undefined, 1],
      [{ ...unknown, running: 1 }, undefined, 1],
      [{}, undefined, 0, 5, 5],
      ...[{ paused: true }, { resting: true }, { startable: 0 }].flatMap((of): Row[] => [
        [{ waiting: 5, ...of }, undefined, 0],
        [{ waiting: 5, running: 1, ...of }, undefined, 1],
      ]),
    ],
    "are unknown while nothing starts, and with work and a worker but no history": [
      ...[{ paused: true }, { resting: true }, unknown].map((of): Row => [{ waiting: 5, ...of }, S, null]),
      ...[{ paused: true }, { resting: true }].map((of): Row => [{ ...cold, ...of }, S, null]),
      [{ running: 1, ...unknown }, S, null],
    ],
    "leave out tasks that wait for their key, also of those that arrive": [
      [{ waiting: 5000, startable: 15, running: 4 }, S, 10],
      [{ waiting: 99, startable: 0, running: 1 }, S, 1, 300],
    ],
    "grow with the work in front and shrink with a longer target": [
      // 19 in front and the newcomer: 20 × 10 s of work; each slot has the target and one service time for it.
      [busy, S, 10],
      [busy, 9 * S, 2],
      [{ ...busy, waiting: 35 }, S, 20],
    ],
    "are whole, rounded up, never fewer than one, and never more than there are tasks": [
      [{ waiting: 1 }, S, 1],
      [{ waiting: 2 }, S, 2],
      [{ waiting: 3, ...serviceTimes(0.3) }, 0.9, 1],
      [{ waiting: 1000, ...serviceTimes(0) }, 1, 1],
      [{ waiting: 1_000_000, ...serviceTimes(1e12) }, 1, 1_000_001],
    ],
    "keep up with arrivals, even if no task is waiting": [
      // 300 tasks of 10 s in a minute: 50 busy slots, and a tenth more.
      [{}, S, 55, 300],
      [{ waiting: 3, running: 50 }, S, 55, 300],
      [{ waiting: 300, running: 50 }, S, 176, 300],
      [unknown, S, 1, 300],
    ],
    "are no more than a rate can keep busy": [
      [limited, S, 5],
      [{ ...limited, ...serviceTimes(2500) }, S, 15],
      [{ ...limited, waiting: 2, running: 0 }, S, 1],
    ],
  };
  for (const [what, rows] of Object.entries(ROWS)) {
    it(what, () => {
      for (const row of rows) {
        const [of, targetMs, slots, accepted, finished] = row;
        expect(slotsWanted({ ...snapshot, ...of }, targetMs, accepted, finished), JSON.stringify(row)).to.equal(slots);
      }
    });
  }

  it("are never fewer than arrivals keep busy, although there were few at the beginning of the minute", () => {
    const wanted = (of: object) => slotsWanted({ ...snapshot, ...arriving, ...of }, S, 40 * 46, 40 * 44);
    expect(wanted({})).to.be.at.least(80);
    expect(wanted({ batch: { max: 8, waitMs: 0 } })).to.be.within(10, 14);
  });

  it("do not gain one by an error of floating-point arithmetic", () => {
    for (let slots = 1; slots <= 200; slots += 1) {
      // (work + 1) × 0.1 / (0.1 + 0.2) is the number of slots, give or take the last bit.
      expect(slotsWanted({ ...snapshot, waiting: slots * 3 - 1, ...serviceTimes(0.1) }, 0.2)).to.equal(slots);
    }
  });

  it("keep nearly all waits within the target under an autoscaler", () => {
    for (const targetMs of [5000, 10_000, 30_000]) {
      const { late, slots } = autoscale(targetMs, targetMs);
      expect(late, `late with a target of ${targetMs} ms`).to.be.below(0.01);
      expect(slots).to.be.below(26);
    }
  });

  it("agree with the estimate: as many slots keep the target, a few less do not", () => {
    const random = randomOf(7);
    for (let n = 0; n < 500; n += 1) {
      const meanMs = 10 ** (1 + random() * 4);
      const targetMs = meanMs * (0.5 + random() * 20);
      const waiting = Math.floor(50 + random() * 5000);
      const running = Math.floor(1 + random() * 20);
      const wanted = slotsWanted({ ...snapshot, waiting, running, ...serviceTimes(meanMs) }, targetMs) ?? Number.NaN;
      const waitMs = (slots: number) => {
        const figures = { queue: "q", scheduled: 0, workers: 1, ...serviceTimes(meanMs, 0, 1e9) };
        const seen = {
          ...figures,
          waiting,
          running,
          paused: false,
          resting: false,
          slots,
          agesMs: [],
        };
        return (estimate(seen, { state: "waiting", index: waiting }, 0)?.seconds ?? Number.NaN) * 1000;
      };
      const label = JSON.stringify({ meanMs, targetMs, waiting, running, wanted });
      expect(waitMs(wanted), label).to.be.at.most(targetMs + meanMs + 50);
      expect(waitMs(Math.floor(wanted * 0.8)), label).to.be.above(targetMs - meanMs);
    }
  });
});
