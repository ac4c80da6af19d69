import { expect } from "chai";
import { instrumented, luaMutants } from "./files.ts";
import { mutationsOf } from "./mutators.ts";
import { parse } from "./syntax.ts";

/** The body of a function, since only that is changed. */
const inFunction = (lua: string): string => `local function f(call, id)\n${lua}\nend\n`;
const changesOf = (lua: string) =>
  luaMutants(new Map([["lua/f.lua", inFunction(lua)]])).map(({ kind, line, after }) => `${line} ${kind}: ${after}`);

describe("the mutators of Lua", () => {
  it("leave out what a script checks, and move its limits by one", () => {
    expect(changesOf("if fence ~= run then return 'stale' end\nif count > most then return end")).to.deep.equal([
      "2 fence check: if false then return 'stale' end",
      "3 condition: if false then return end",
      "3 comparison: if count >= most then return end",
    ]);
  });

  it("leave out commands, by what is forgotten", () => {
    expect(
      changesOf(
        "redis.call('ZREM', 'z', id)\nredis.call('PEXPIRE', 'k', 1)\nNotices.work(call, id)\nRate.count(call, id, 1)\nn = n + 1",
      ),
    ).to.deep.equal(["2 ZREM: ", "3 expiry: ", "4 notice: ", "5 count: ", "6 count: "]);
  });

  it("change the score of ZADD, also behind its options, and leave out the expiry of SET", () => {
    expect(changesOf("redis.call('ZADD', 'z', 'XX', score, id)")).to.include(
      "2 score: redis.call('ZADD', 'z', 'XX', 0, id)",
    );
    expect(changesOf("redis.call('SET', 'k', id, 'PX', 10)")).to.include("2 expiry: redis.call('SET', 'k', id)");
  });

  it("take the second of two choices", () => {
    expect(changesOf("return ended and 'ended' or 'waits'")).to.deep.equal(["2 condition: return 'waits'"]);
  });

  it("change nothing outside of functions", () => {
    expect(mutationsOf("local LIMIT = C.some and 1 or 2\nredis.call('DEL', 'k')")).to.deep.equal([]);
  });
});

describe("Lua that notes which of its statements are reached", () => {
  it("is still Lua, and notes each statement of a function", () => {
    const { sources, numbers } = instrumented(new Map([["lua/f.lua", inFunction("if id then\n  return 1\nend")]]));
    expect(() => parse(sources.get("lua/f.lua") ?? "")).to.not.throw();
    expect(numbers.size).to.equal(2);
  });
});
