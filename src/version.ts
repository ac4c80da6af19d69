import { readFileSync } from "node:fs";
import path from "node:path";

/** The same relative path from src and from dist. */
const PACKAGE = new URL("../package.json", import.meta.url);

/** The version in the package.json that is nearest above a folder; undefined if there is none. */
export function versionNear(folder: string): string | undefined {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    try {
      const { version } = JSON.parse(readFileSync(path.join(at, "package.json"), "utf8"));
      return typeof version === "string" ? version.slice(0, 64) : undefined;
    } catch {
      // There is none here, or none that can be read: the next one counts.
    }
    if (at === path.dirname(at)) return undefined;
  }
}

/** The version of this package. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(PACKAGE, "utf8")).version;
}
