import { expect } from "chai";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { holdAgainstModel } from "./run.ts";

const STEPS = 40;

/** A broken promise that is sure to be met: no call may pause a queue. */
const noPause = ({ op }: { op: string }) => {
  if (op === "pause") throw new Error("a queue was paused");
};

describe("a sequence of calls that breaks a promise", () => {
  it("is printed with the command that replays it", async function () {
    this.timeout(60_000);
    const failure = await failureOf({ runs: 1000, steps: STEPS, onCall: noPause });
    const command = /npx tsx test\/engine\/model\/main\.ts --steps=(\d+) --seed=(-?\d+) --path=([\d:]+)$/.exec(failure);
    const [, steps, seed, path] = command ?? [];
    expect(Number(steps)).to.equal(STEPS);
    if (seed === undefined || path === undefined) expect.fail(`no seed and path in ${failure}`);

    let runs = 0;
    const again = await failureOf({
      ...{ runs: 1000, steps: Number(steps), seed: Number(seed), path, onCall: noPause },
      onRun: () => {
        runs += 1;
      },
    });
    expect(counterexample(again)).to.equal(counterexample(failure));
    expect(again).to.include("Property failed after 1 tests");
    expect(opsOf(again)).to.include("pause");
    expect(runs).to.be.below(200);
  });
});

async function failureOf(options: Parameters<typeof holdAgainstModel>[1]): Promise<string> {
  try {
    await holdAgainstModel(storeUrl(), options);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return expect.fail("every promise held");
}

/** The sequence of calls that a failure names, as JSON. */
function counterexample(failure: string): string {
  return /^Counterexample: (.*)$/m.exec(failure)?.[1] ?? expect.fail(`no counterexample in ${failure}`);
}

function opsOf(failure: string): string[] {
  const [calls] = JSON.parse(counterexample(failure)) as [{ call: { op: string } }[]];
  return calls.map(({ call }) => call.op);
}
