import { readdirSync } from "node:fs";
import { basename } from "node:path";

/** Where the documents are: at the root of a checkout, of the package, and of an image. */
const ROOT = new URL("../../../../", import.meta.url);
const DOCS = new URL("docs/", ROOT);

/** What tells programs which documents there are. */
export const LLMS = new URL("llms.txt", ROOT);

/** The index of all documents, and the name under which it is served. */
const INDEX = { file: "README.md", as: "guides" } as const;

let files: ReadonlyMap<string, URL> | undefined;

/** All documents and pictures by the names under which they are served, which differ in all folders. */
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
  return path === INDEX.file ? `${INDEX.as}.md` : basename(path);
}
