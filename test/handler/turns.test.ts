import { expect } from "chai";
import { defineTurns } from "../../src/handler/turns.ts";

describe("the options of turns", () => {
  const define = (options: object) => () => defineTurns({ queue: "gpu", ...options });

  it("default to one slot, no longest time, and a presence of 30 s", () => {
    const { concurrency, turns, presenceMs } = defineTurns({ queue: "gpu" });
    expect({ concurrency, turns, presenceMs }).to.deep.equal({
      ...{ concurrency: { each: 0, total: 1 }, turns: { longestMs: undefined, all: true }, presenceMs: 30_000 },
    });
  });

  it("are read", () => {
    const { concurrency, turns } = defineTurns({ queue: "gpu", slots: 3, longest: "2h" });
    expect([concurrency.total, turns?.longestMs]).to.deep.equal([3, 7_200_000]);
  });

  for (const [options, message] of [
    [{ slots: 0 }, 'turns of queue "gpu": slots is 0, expected a whole number from 1'],
    [{ longest: "soon" }, 'turns of queue "gpu": longest is "soon", expected'],
    [{ batch: { max: 3 } }, 'there is no option "batch", which is for handlers: turns have none'],
    [{ run: () => 1 }, 'there is no option "run", which is for handlers'],
    [{ longset: "1s" }, 'there is no option "longset"; did you mean "longest"?'],
    [{ colour: 1 }, 'there is no option "colour", expected one of queue, slots, longest'],
    [{ presence: "1s" }, "presence"],
  ] as const) {
    it(`are refused by name: ${JSON.stringify(Object.keys(options))} ${message.slice(0, 30)}`, () => {
      expect(define(options)).to.throw(TypeError, message);
    });
  }
});
