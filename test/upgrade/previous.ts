import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { ROOT } from "../shared/root.ts";

/** What scripts/previous-version.ts makes. */
interface Frozen {
  readonly commit: string;
  /** Text by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** The previous release, unpacked where it finds the packages of this checkout. */
export interface PreviousRelease {
  readonly commit: string;
  /** The arguments of Node that run its command `paihao`. */
  readonly program: readonly string[];
}

/** Unpacks the fixture below .cache, unless it is there. */
export function previousRelease(): PreviousRelease {
  const bytes = readFileSync(path.join(import.meta.dirname, "previous.json.br"));
  const { commit, files } = JSON.parse(brotliDecompressSync(bytes).toString()) as Frozen;
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  const folder = path.join(ROOT, ".cache", `previous-${digest}`);
  if (!existsSync(folder)) {
    const fresh = `${folder}.${process.pid}`;
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(fresh, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    try {
      renameSync(fresh, folder);
    } catch (error) {
      // Another run was faster.
      rmSync(fresh, { recursive: true });
      if (!existsSync(folder)) throw error;
    }
  }
  return { commit, program: [path.join(folder, "dist/cli/paihao.js")] };
}
