import { readFileSync } from "node:fs";

/** The same relative path from src and from dist. */
const PACKAGE = new URL("../package.json", import.meta.url);

/** The version of this package. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(PACKAGE, "utf8")).version;
}
