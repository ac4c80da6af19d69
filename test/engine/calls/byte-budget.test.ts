import { expect } from "chai";
import { ByteBudget } from "../../../src/engine/calls/byte-budget.ts";
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

  it("gets room back once for each claim, and none for one that still waited", () => {
    const budget = new ByteBudget(10);
    const went: string[] = [];
    const claim = (name: string, bytes: number) => budget.claim(bytes, () => went.push(name));
    const [a, b] = [claim("a", 6), claim("b", 4)];
    expect([a.granted, b.granted]).to.deep.equal([true, true]);
    claim("gave up", 8).release();
    expect(claim("no room yet", 1).granted).to.equal(false);
    expect(went).to.deep.equal([]);
    b.release();
    b.release();
    expect(went, "of claims that waited").to.deep.equal(["no room yet"]);
    const next = claim("next", 4);
    expect(next.granted, "6 + 1 + 4 are too many").to.equal(false);
    a.release();
    expect([next.granted, went]).to.deep.equal([true, ["no room yet", "next"]]);
  });
});
