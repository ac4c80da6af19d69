import { expect } from "chai";
import fc from "fast-check";
import { Resequencer } from "../../../src/http/batches/resequencer.ts";

describe("the resequencer", () => {
  it("returns results in the order of the requests", async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 }), async (order) => {
        const answers = new Resequencer(100);
        const places = order.map(() => answers.place());
        expect(answers.room()).to.equal(true);
        answers.end();
        const read = (async () => {
          let text = "";
          for await (const part of answers) text += part;
          return text;
        })();
        for (const n of order) {
          places[n]?.(String(n));
          await Promise.resolve();
        }
        expect(await read).to.equal("01234567");
      }),
    );
  });

  it("applies backpressure until a result is consumed, not only available", async () => {
    const answers = new Resequencer(2);
    const reader = answers[Symbol.asyncIterator]();
    answers.place()("a");
    expect(answers.room()).to.equal(true);
    answers.place()("b");
    let room = false;
    const second = Promise.resolve(answers.room()).then((more) => {
      room = more;
    });
    expect(await reader.next()).to.deep.equal({ done: false, value: "ab" });
    expect(room).to.equal(false);
    const third = reader.next();
    await second;
    expect(room).to.equal(true);
    answers.place()("c");
    answers.end();
    expect(await third).to.deep.equal({ done: false, value: "c" });
    expect((await reader.next()).done).to.equal(true);
  });

  it("ends all waits if it is abandoned", async () => {
    const answers = new Resequencer(1);
    answers.place();
    const asked = answers.room();
    const read = answers[Symbol.asyncIterator]().next();
    answers.abandon();
    expect(await asked).to.equal(false);
    expect((await read).done).to.equal(true);
    expect(answers.room()).to.equal(false);
  });
});
