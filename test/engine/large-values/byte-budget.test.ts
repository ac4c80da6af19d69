import { expect } from "chai";
import { ByteBudget } from "../../../src/engine/large-values/byte-budget.ts";
import { ProblemError } from "../../../src/errors.ts";

describe("a budget of bytes", () => {
  const LONG_MS = 60_000;
  /** Pieces of work that end when they are told to, and which of them have begun. */
  function workshop(budget: ByteBudget) {
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const start = (name: string, bytes: number, patienceMs = LONG_MS) =>
      budget.spend(bytes, patienceMs, () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      });
    return { begun, start, end: (name: string) => ends.get(name)?.() };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it("admits values that fit, and the next one as soon as it fits, first come, first served", async () => {
    const { begun, start, end } = workshop(new ByteBudget(10));
    const all = [start("a", 6), start("b", 4), start("large", 8), start("small", 1)];
    await turn();
    // There would be room for the small one after a and b: it does not pass the large one.
    expect(begun).to.deep.equal(["a", "b"]);
    end("b");
    await turn();
    expect(begun).to.deep.equal(["a", "b"]);
    end("a");
    await turn();
    expect(begun).to.deep.equal(["a", "b", "large", "small"]);
    end("large");
    end("small");
    expect(await Promise.all(all)).to.deep.equal(["a", "b", "large", "small"]);
  });

  it("admits alone what is larger than the budget", async () => {
    const { begun, start, end } = workshop(new ByteBudget(10));
    const all = [start("a", 1), start("huge", 1000), start("b", 1)];
    await turn();
    expect(begun).to.deep.equal(["a"]);
    end("a");
    await turn();
    expect(begun).to.deep.equal(["a", "huge"]);
    end("huge");
    await turn();
    end("b");
    expect(await Promise.all(all)).to.deep.equal(["a", "huge", "b"]);
  });

  it("releases the room of a failed read", async () => {
    const budget = new ByteBudget(10);
    const failing = budget.spend(10, LONG_MS, () => Promise.reject(new Error("broken")));
    const next = budget.spend(10, LONG_MS, async () => "next");
    expect(await failing.catch((error: Error) => error.message)).to.equal("broken");
    expect(await next).to.equal("next");
  });

  it("limits each wait, and then admits the next ones", async () => {
    const { begun, start, end } = workshop(new ByteBudget(10));
    const first = start("first", 6);
    const impatient = start("impatient", 8, 1).catch((error: unknown) => error);
    const last = start("last", 2);
    const refused = await impatient;
    expect(refused).to.be.instanceOf(ProblemError).and.to.include({ code: "store-unavailable" });
    await turn();
    expect(begun).to.deep.equal(["first", "last"]);
    end("first");
    end("last");
    await Promise.all([first, last]);
  });
});
