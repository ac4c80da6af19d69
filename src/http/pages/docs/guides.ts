import { existsSync, readFileSync } from "node:fs";
import { documentFiles, INDEX, README } from "./documents.ts";

/** Where the build puts the documents as HTML. */
const BUILT = new URL("guides/", import.meta.url);

/** A document as a page. */
export interface Guide {
  readonly title: string;
  readonly html: string;
}

const guides = new Map<string, Guide>();

/** A document by its name, such as `handlers`; undefined if there is none. */
export async function guideOf(name: string): Promise<Guide | undefined> {
  const known = guides.get(name);
  if (known) return known;
  const source = documentFiles().get(`${name}.md`);
  if (source === undefined) return undefined;
  const text = readFileSync(source, "utf8");
  const [, title = name] = /^# (.+)$/m.exec(text) ?? [];
  const built = new URL(`${name}.html`, BUILT);
  // Absent when running from src.
  const html = existsSync(built) ? readFileSync(built, "utf8") : (await import("./markdown.ts")).htmlOf(text);
  const guide = { title, html };
  guides.set(name, guide);
  return guide;
}

/** The text of /llms.txt. */
export async function llmsText(): Promise<string> {
  const built = new URL("llms.txt", BUILT);
  if (existsSync(built)) return readFileSync(built, "utf8");
  return (await import("./llms.ts")).llmsOf(readFileSync(README, "utf8"), readFileSync(INDEX, "utf8"));
}
