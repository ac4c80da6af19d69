import { expect } from "chai";
import { count as handler } from "../../src/handlers/default.ts";
import { BUSY_MS } from "../helpers/busy.ts";
import { taskContext, thrownBy } from "./context.ts";

const count = async (seconds: number, given: Parameters<typeof taskContext>[0] = {}) => {
  const { task, reports } = taskContext(given);
  const result = (await handler.run({ seconds }, task)) as { seconds: number; startedAt: string; finishedAt: string };
  return { result, reports, tookMs: Date.parse(result.finishedAt) - Date.parse(result.startedAt) };
};

describe("the handler of the queue default", () => {
  it("takes the requested time, including fractions of a second", async () => {
    const { result, tookMs } = await count(0.25);
    expect(result.seconds).to.equal(0.25);
    expect(tookMs).to.be.within(245, 250 + BUSY_MS);
  });

  it("reports progress at each tenth, without going back", async () => {
    const { reports } = await count(0.25);
    expect(reports.map((r) => r.percent)).to.deep.equal([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    expect(reports[0]?.message).to.equal("0.3 s left");
    expect(reports.at(-1)?.message).to.equal("done");
  });

  it("says what is left in a unit that people use", async () => {
    const saidOf = async (seconds: number) => {
      const stop = new AbortController();
      let said: string | undefined;
      const progress = (_: number, message?: string) => {
        said = message;
        stop.abort(new Error("enough"));
      };
      await thrownBy(() => count(seconds, { signal: stop.signal, progress }));
      return said;
    };
    expect([await saidOf(3), await saidOf(40), await saidOf(120), await saidOf(3600)]).to.deep.equal([
      "3.0 s left",
      "40 s left",
      "2 min left",
      "60 min left",
    ]);
  });

  it("ends at once with nothing to count", async () => {
    const { result, reports } = await count(0);
    expect(result.seconds).to.equal(0);
    expect(reports).to.deep.equal([{ percent: 100, message: "done" }]);
  });

  it("stops at once when the signal fires, with its reason", async () => {
    const stop = new AbortController();
    const reason = new Error("canceled");
    const counting = count(3600, { signal: stop.signal, progress: () => stop.abort(reason) });
    expect(await thrownBy(() => counting)).to.equal(reason);
    expect(await thrownBy(() => count(3600, { signal: AbortSignal.abort(reason) }))).to.equal(reason);
  });

  it("counts for one task at a time, and has time for the longest count", () => {
    expect(handler.concurrency.each).to.equal(1);
    expect(handler.timeoutMs).to.be.above(3_600_000);
  });

  it("accepts 0 to 3600 seconds and nothing else", async () => {
    const accepts = async (value: unknown) =>
      (await handler.schema?.["~standard"].validate(value))?.issues === undefined;
    for (const seconds of [0, 0.5, 10, 3600]) expect(await accepts({ seconds }), String(seconds)).to.equal(true);
    for (const value of [{}, { seconds: -1 }, { seconds: 3600.1 }, { seconds: "1" }, { seconds: 1, x: 1 }, 5, null]) {
      expect(await accepts(value), JSON.stringify(value)).to.equal(false);
    }
  });
});
