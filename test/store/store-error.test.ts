import { expect } from "chai";
import { ProblemError, reasonOf } from "../../src/errors.ts";
import { refusalOf, storeError } from "../../src/store/store-error.ts";

describe("why the store refuses writes", () => {
  it("is told by what it answers, also from within a script, and by the error made from that", () => {
    for (const [said, why] of [
      ["MISCONF Redis is configured to save RDB snapshots", "cannot save to its disk"],
      ["NOREPLICAS Not enough good replicas to write.", "fewer connected replicas"],
      ["READONLY You can't write against a read only replica.", "it is a replica"],
      [
        "ERR OOM command not allowed when used memory > 'maxmemory'. script: f_1, on @user_function:1.",
        "memory is full",
      ],
    ] as const) {
      expect(refusalOf(new Error(said)))
        .to.match(/^the store refuses writes: /)
        .and.to.include(why);
      expect(refusalOf(storeError(new Error(said)))).to.include(why);
    }
  });

  it("is nothing if it could not be reached, or failed in another way", () => {
    for (const error of [new Error("connect ECONNREFUSED"), new ProblemError("internal"), undefined])
      expect(refusalOf(error)).to.equal(undefined);
  });
});

describe("an error of the store", () => {
  const code = (message: string) => storeError(new Error(message)).code;

  it("says whether it is full, away, or has failed in another way, and keeps the cause", () => {
    expect(code("OOM command not allowed when used memory > 'maxmemory'.")).to.equal("store-full");
    for (const away of ["LOADING Redis is loading the dataset", "Connection is closed.", "Command timed out"])
      expect(code(away)).to.equal("store-unavailable");
    expect(code("WRONGTYPE Operation against a key")).to.equal("internal");
    const lost = storeError(new Error("Stream isn't writeable and enableOfflineQueue options is false"), "redis:6379");
    expect(reasonOf(lost)).to.match(/: no connection to Redis at redis:6379$/);
    const cause = new Error("ECONNRESET");
    expect(storeError(cause).cause).to.equal(cause);
    const problem = new ProblemError("expired");
    expect(storeError(problem)).to.equal(problem);
    expect(storeError("ECONNRESET").code).to.equal("store-unavailable");
  });
});
