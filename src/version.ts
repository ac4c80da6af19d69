import { readFileSync } from "node:fs";

/** The same relative path from src and from dist. */
const PACKAGE = new URL("../package.json", import.meta.url);

interface Package {
  readonly version: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const read = (): Package => JSON.parse(readFileSync(PACKAGE, "utf8"));

/** The version of this package. */
export function packageVersion(): string {
  return read().version;
}

/** The packages that users install if they need them, as `npm install` takes them: `name@range`. */
export function optionalPackages(): string[] {
  return Object.entries(read().peerDependencies).map(([name, range]) => `${name}@${range}`);
}
