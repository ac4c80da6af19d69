import { expect } from "chai";
import { GiveUp, giveUp, isGiveUp, isRetryLater, RetryLater, retryLater } from "../../src/handler/intents.ts";

describe("an intent", () => {
  it("giveUp carries the problem that the client sees", () => {
    const problem = { status: 422, title: "Not an image", detail: "it is a song", code: "x-1" };
    const intent = giveUp(problem);
    expect(intent).to.be.instanceOf(GiveUp).and.an("error");
    expect(intent.problem).to.deep.equal(problem);
    expect(intent.message).to.equal("it is a song");
    expect(giveUp({ title: "T" }).message).to.equal("T");
    expect(giveUp({}).message).to.equal("the handler gave up");
    expect(isGiveUp(intent)).to.equal(true);
    expect(isRetryLater(intent)).to.equal(false);
  });

  it("giveUp has an HTTP error status", () => {
    for (const status of [400, 599]) expect(giveUp({ status }).problem.status).to.equal(status);
    for (const status of [200, 399, 600, 404.5, Number.NaN]) {
      expect(() => giveUp({ status }), String(status)).to.throw(TypeError, "expected 400–599");
    }
  });

  it("retryLater carries the delay", () => {
    const intent = retryLater("20s");
    expect(intent).to.be.instanceOf(RetryLater).and.an("error");
    expect(intent.afterMs).to.equal(20_000);
    expect(retryLater(0).afterMs).to.equal(0);
    expect(isRetryLater(intent)).to.equal(true);
    expect(isGiveUp(intent)).to.equal(false);
    for (const after of ["soon", -1, Number.POSITIVE_INFINITY]) {
      expect(() => retryLater(after), String(after)).to.throw(TypeError, "is not a duration");
    }
  });

  it("is distinguished from everything else that can be thrown", () => {
    for (const thrown of [new Error("x"), "give-up", null, undefined, { name: "GiveUp" }, 7]) {
      expect(isGiveUp(thrown)).to.equal(false);
      expect(isRetryLater(thrown)).to.equal(false);
    }
  });

  it("is recognized if another copy of the module threw it", async () => {
    // A query makes it another module to the loader.
    const copy: typeof import("../../src/handler/intents.ts") = await import(
      `${new URL("../../src/handler/intents.ts", import.meta.url).href}?copy`
    );
    const gaveUp: unknown = copy.giveUp({ status: 404 });
    expect(gaveUp).to.not.be.instanceOf(GiveUp);
    expect(isGiveUp(gaveUp) && gaveUp.problem.status).to.equal(404);
    expect(isRetryLater(copy.retryLater("1s"))).to.equal(true);
  });
});
