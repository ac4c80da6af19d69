import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../shared/root.ts";

const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), "utf8"));

describe("packages with install scripts", () => {
  it("are those that package.json names, whose scripts need not run", () => {
    const packages = Object.entries<{ hasInstallScript?: boolean }>(read("package-lock.json").packages);
    const names = packages.flatMap(([path, { hasInstallScript }]) =>
      hasInstallScript === true ? [path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)] : [],
    );
    const { allowScripts } = read("package.json");
    expect(names.sort()).to.deep.equal(Object.keys(allowScripts).sort());
    expect(Object.values(allowScripts)).to.deep.equal(names.map(() => false));
  });
});
