import { readdirSync } from "node:fs";
import { basename } from "node:path";

/** Where the documents are: at the root of a checkout, of the package, and of an image. */
const ROOT = new URL("../../../../", import.meta.url);
const DOCS = new URL("docs/", ROOT);

/** What a visitor of the project reads first; missing in an image. */
export const README = new URL("README.md", ROOT);

/** The index of all documents. */
export const INDEX = new URL("README.md", DOCS);

let files: ReadonlyMap<string, URL> | undefined;

/** All documents and pictures by the names under which they are served, which are unique over all folders. */
export function documentFiles(): ReadonlyMap<string, URL> {
  files ??= new Map(
    readdirSync(DOCS, { recursive: true, encoding: "utf8" })
      .filter((path) => /\.(?:md|png)$/.test(path))
      .map((path) => [servedAs(path), new URL(path.replaceAll("\\", "/"), DOCS)]),
  );
  return files;
}

/** The name under which the file of a path is served. */
export function servedAs(path: string): string {
  return path === "README.md" ? "guides.md" : basename(path);
}
