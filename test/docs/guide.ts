import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../../testbed/root.ts";

/** The blocks of TypeScript in a guide, by the path in their first line; a block without one is `main.ts`. */
function filesOf(guide: string): Map<string, string> {
  const text = readFileSync(path.join(ROOT, "docs", guide), "utf8");
  const blocks = [...text.matchAll(/^```ts\n(?:\/\/ (\S+\.ts)\n)?(.*?)^```/gms)];
  return new Map(blocks.map(([, name = "main.ts", code = ""]) => [name, code]));
}

/** Writes the code of a guide to a folder where it finds the package, and checks its types; returns the names of the files. */
export function writeGuide(guide: string, folder: string): string[] {
  const files = filesOf(guide);
  for (const [name, code] of files) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, code);
  }
  const options = {
    extends: path.join(ROOT, "tsconfig.json"),
    compilerOptions: { types: ["node"] },
    include: ["**/*.ts"],
  };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(options));
  execFileSync(process.execPath, [path.join(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", folder], {
    stdio: "pipe",
  });
  return [...files.keys()];
}
