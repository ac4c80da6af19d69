import { expect } from "chai";
import { inheritedFlags } from "../../src/config/node-flags.ts";

describe("the flags of Node for other processes", () => {
  it("are loaders and limits, not what this process runs or how it is watched", () => {
    const loaders = ["--import", "tsx", "--max-old-space-size=256", "-r", "./setup.cjs"];
    const own = [
      "--inspect=9229",
      "--inspect-brk",
      "--input-type=module",
      "--test",
      "--test-isolation=none",
      "--watch",
    ];
    expect(inheritedFlags([...loaders, ...own])).to.deep.equal(loaders);
    for (const flag of ["-e", "--eval", "-p", "--print", "-pe"]) {
      expect(inheritedFlags(["--import", "tsx", flag, "start()", "--no-warnings"]), flag).to.deep.equal([
        ...["--import", "tsx", "--no-warnings"],
      ]);
    }
    expect(inheritedFlags(["--eval=start()"])).to.deep.equal([]);
  });
});
