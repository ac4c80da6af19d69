import path from "node:path";
import { build } from "../../scripts/build.ts";
import { ROOT } from "../shared/root.ts";

let isBuilt = false;

/** Builds the package if its sources have changed. */
function ensureBuilt(): void {
  if (!isBuilt) build(ROOT, { declarations: true });
  isBuilt = true;
}

/** The arguments of Node that run the command `paihao` as users have it: from the build, made first if the sources have changed. */
export function builtCommand(): readonly string[] {
  ensureBuilt();
  return [path.join(ROOT, "dist/cli/paihao.js")];
}

/** The settings of TypeScript and tsx for programs that have the package as users do: from the build, not from its sources. */
export function builtSettings(): string {
  ensureBuilt();
  return path.join(ROOT, "test/tsconfig.built.json");
}
