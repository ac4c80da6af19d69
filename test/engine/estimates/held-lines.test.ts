import { expect } from "chai";
import { type HeldLook, type Holders, simulateHeldLine } from "../../shared/held-line-simulation.ts";
import { WORKLOADS } from "../../shared/line-simulation.ts";

/** A rate that allows this share of what four slots could do, as so many starts in a span. */
const rate = (share: number, max: number): Pick<Holders, "rate"> => ({ rate: { max, perMs: (max * 250) / share } });
const keyed = { keyed: { limit: 1, keys: 30 } };
const batch = { batch: 8, wave: 400 };
const starting = { startMs: 20_000, waves: 2 };

interface Case extends Holders {
  readonly wave?: number;
  readonly waves?: number;
  readonly fresh?: boolean;
  readonly seeds?: number;
}

/** What holds a line of four slots, alone and in pairs. */
const CASES: Readonly<Record<string, Case>> = {
  "slots alone": {},
  "a slow rate": rate(0.3, 1),
  "a rate for several at once": rate(0.5, 5),
  "a rate almost as fast as the slots": rate(0.9, 1),
  "a rate just as fast as the slots": rate(1, 4),
  "a rate faster than the slots": rate(1.2, 8),
  "a rate for many at once": rate(0.3, 40),
  "a rate before any task has ended": { ...rate(0.3, 1), fresh: true },
  keys: keyed,
  "fewer keys than slots": { keyed: { limit: 1, keys: 3 } },
  "keys with two at once": { keyed: { limit: 2, keys: 8 } },
  "a key with most of the line": { keyed: { limit: 1, keys: 30, flood: 0.8 } },
  "progress reports": { reports: true },
  batches: batch,
  "a worker that starts": starting,
  "a rate and keys": { ...rate(0.5, 1), ...keyed },
  "a rate and progress reports": { ...rate(0.5, 5), reports: true },
  "a rate and batches": { rate: { max: 4, perMs: 500 }, batch: 4, wave: 400 },
  "a rate and a worker that starts": { ...rate(0.5, 2), ...starting },
  "keys and progress reports": { ...keyed, reports: true },
  "keys and a worker that starts": { ...keyed, ...starting },
  "batches and progress reports": { ...batch, reports: true },
  "batches and a worker that starts": { ...batch, ...starting },
};

/** A range no wider than this share of the estimate may contain all true starts. */
const NARROW = 0.16;
const SEASONED = 100;
/** Of a few hundred looks, two in a hundred more may be within by chance. */
const MOST = 0.92;
/** The store keeps whole milliseconds. */
const TOLERANCE_MS = 1;

function looksOf(name: "constant" | "exponential", of: Case): HeldLook[] {
  const { seeds = 4, ...line } = of;
  const usual = { workload: WORKLOADS[name], slots: 4, wave: 120, waves: 3 };
  return Array.from({ length: seeds }, (_, n) => simulateHeldLine({ ...usual, ...line, seed: n + 1 })).flat();
}

function judge(looks: readonly HeldLook[]) {
  const told = looks.filter(({ eta }) => eta.basis !== "idle");
  const within = told.filter(
    ({ eta, waitedMs }) => waitedMs >= eta.low * 1000 - TOLERANCE_MS && waitedMs <= eta.high * 1000 + TOLERANCE_MS,
  );
  const widths = told
    .filter(({ eta }) => eta.samples >= SEASONED || eta.basis === "rate")
    .map(({ eta }) => (eta.high - eta.low) / Math.max(eta.seconds, 0.001))
    .sort((a, b) => a - b);
  const atOnce = looks.filter(({ eta }) => eta.basis === "idle");
  const wrong = atOnce.filter(({ waitedMs }) => waitedMs > 20).length;
  return { count: told.length, covered: within.length / told.length, width: widths[widths.length >> 1] ?? 0, wrong };
}

describe("an estimate counts everything that holds a line", function () {
  this.timeout(60_000);

  for (const [what, of] of Object.entries(CASES)) {
    for (const name of ["constant", "exponential"] as const) {
      it(`${what}, ${name} service times`, () => {
        const { count, covered, width, wrong } = judge(looksOf(name, of));
        expect(count).to.be.above(80);
        expect(covered).to.be.within(0.7, width <= NARROW ? 1 : MOST);
        if (name === "constant") expect(width).to.be.at.most(0.25);
        expect(wrong, "told that they start at once").to.be.at.most(2);
      });
    }
  }

  it("progress reports where nothing has ended yet", () => {
    const { count, covered } = judge(
      looksOf("constant", { reports: true, fresh: true, wave: 12, waves: 1, seeds: 300 }),
    );
    expect(count).to.be.above(80);
    expect(covered).to.be.within(0.7, 0.9);
  });
});
