import { expect } from "chai";
import fc from "fast-check";
import { Resequencer } from "../../../src/http/batches/resequencer.ts";

/** A promise that a test settles. */
function later() {
  let settle: (text: string) => void = () => undefined;
  const promise = new Promise<string>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

describe("the resequencer", () => {
  it("returns answers in the order of the questions", async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 }), async (order) => {
        const questions = order.map(() => later());
        const answers = new Resequencer(100);
        for (const { promise } of questions) expect(await answers.add(promise)).to.equal(true);
        answers.end();
        const read = (async () => {
          let text = "";
          for await (const part of answers) text += part;
          return text;
        })();
        for (const n of order) {
          questions[n]?.settle(String(n));
          await Promise.resolve();
        }
        expect(await read).to.equal("01234567");
      }),
    );
  });

  it("makes the asker wait until an answer has been taken, not only found", async () => {
    const answers = new Resequencer(2);
    const reader = answers[Symbol.asyncIterator]();
    expect(await answers.add(Promise.resolve("a"))).to.equal(true);
    let room = false;
    const second = answers.add(Promise.resolve("b")).then((more) => {
      room = more;
    });
    expect(await reader.next()).to.deep.equal({ done: false, value: "a" });
    expect(room).to.equal(false);
    const third = reader.next();
    await second;
    expect(room).to.equal(true);
    answers.end();
    expect(await third).to.deep.equal({ done: false, value: "b" });
    expect((await reader.next()).done).to.equal(true);
  });

  it("ends all waits when it is abandoned", async () => {
    const answers = new Resequencer(1);
    const asked = answers.add(later().promise);
    const read = answers[Symbol.asyncIterator]().next();
    answers.abandon();
    expect(await asked).to.equal(false);
    expect((await read).done).to.equal(true);
    expect(await answers.add(later().promise)).to.equal(false);
  });
});
