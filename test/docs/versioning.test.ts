import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { ROOT } from "../shared/root.ts";

/** The modules of the package, with their sources. */
const MODULES = {
  paihao: "src/index.ts",
  "paihao/client": "src/client/index.ts",
  "paihao/testing": "src/testing/index.ts",
} as const;

/** What a module that only exports from others exports: values, and types. */
function exportsOf(file: string): { values: string[]; types: string[] } {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const named = [...text.matchAll(/^export (type )?\{([^}]*)\} from/gms)].flatMap(([, all, list = ""]) =>
    list
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "")
      .map((name) => ({ name: name.replace(/^type /, ""), type: all !== undefined || name.startsWith("type ") })),
  );
  const of = (type: boolean) => named.filter((each) => each.type === type).map(({ name }) => name);
  return { values: of(false), types: of(true) };
}

describe("docs/versioning.md", () => {
  const text = readFileSync(path.join(ROOT, "docs/versioning.md"), "utf8");

  for (const [module, file] of Object.entries(MODULES)) {
    it(`lists all that ${module} exports, and nothing else`, () => {
      const row = text.split("\n").find((line) => line.startsWith(`| \`${module}\` |`)) ?? "";
      const [, , values = "", types = ""] = row.split("|");
      const names = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name);
      const exported = exportsOf(file);
      expect(names(values)).to.have.members(exported.values);
      expect(names(types)).to.have.members(exported.types);
    });
  }

  it("lists every module of the package", () => {
    const { exports } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
    const modules = Object.keys(exports).map((name) => name.replace(/^\./, "paihao"));
    expect([...Object.keys(MODULES), "paihao/package.json"]).to.have.members(modules);
  });
});
