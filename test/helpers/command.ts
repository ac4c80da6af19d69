import path from "node:path";
import { build } from "../../scripts/build.ts";
import { ROOT } from "../../testbed/root.ts";

let isBuilt = false;

/** The arguments of Node that run the command `paihao` as users have it: from the build, made first if the sources have changed. */
export function builtCommand(): readonly string[] {
  if (!isBuilt) build(ROOT);
  isBuilt = true;
  return [path.join(ROOT, "dist/cli/paihao.js")];
}
