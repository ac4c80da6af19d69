import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../shared/root.ts";
import { type Mutation, mutationsOf } from "./mutators.ts";
import { nodesOf, parse, statementOf } from "./syntax.ts";

const STORE = join(ROOT, "src/store");

/** A mutation in its file. */
export interface Mutant extends Mutation {
  /** Stays the same as long as its line and the changed line do. */
  readonly id: string;
  /** `lua/lease.lua` */
  readonly file: string;
  /** Its line, before and after. */
  readonly before: string;
  readonly after: string;
}

/** The Lua files of src/store, by their names in it. */
export function luaFiles(): Map<string, string> {
  const names = ["lua", "verbs"].flatMap((folder) =>
    readdirSync(join(STORE, folder)).map((file) => `${folder}/${file}`),
  );
  return new Map(
    names
      .filter((file) => file.endsWith(".lua"))
      .toSorted()
      .map((file) => [file, readFileSync(join(STORE, file), "utf8")]),
  );
}

/** All mutants of all files. */
export function luaMutants(files: ReadonlyMap<string, string>): Mutant[] {
  return [...files].flatMap(([file, source]) => {
    const seen = new Map<string, number>();
    return mutationsOf(source).map((mutation): Mutant => {
      const start = source.lastIndexOf("\n", mutation.from - 1) + 1;
      const end = source.indexOf("\n", mutation.to);
      const before = oneLine(source.slice(start, end));
      const after = oneLine(source.slice(start, mutation.from) + mutation.becomes + source.slice(mutation.to, end));
      const what = `${file} ${before} → ${after}`;
      const nth = (seen.get(what) ?? 0) + 1;
      seen.set(what, nth);
      const id = createHash("sha1").update(`${what} ${nth}`).digest("hex").slice(0, 10);
      return { ...mutation, id, file, before, after };
    });
  });
}

/** A file with one mutation. */
export const mutated = (source: string, { from, to, becomes }: Mutation): string =>
  source.slice(0, from) + becomes + source.slice(to);

/** Files in which each statement notes in the table HIT that it was reached, and which number has which. */
export function instrumented(files: ReadonlyMap<string, string>): {
  sources: Map<string, string>;
  /** By file and offset: `lua/lease.lua:120`. */
  numbers: Map<string, number>;
} {
  const numbers = new Map<string, number>();
  const sources = new Map<string, string>();
  for (const [file, source] of files) {
    const starts = [...nodesOf(parse(source))].flatMap(([node, around]) => {
      const isReached = around.some(({ type }) => type === "FunctionDeclaration");
      return isReached && statementOf(node, around) === node ? [node.range[0]] : [];
    });
    let text = source;
    for (const start of [...new Set(starts)].toSorted((a, b) => b - a)) {
      const number = numbers.size + 1;
      numbers.set(`${file}:${start}`, number);
      text = `${text.slice(0, start)}HIT[${number}] = true; ${text.slice(start)}`;
    }
    sources.set(file, text);
  }
  return { sources, numbers };
}

const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, " ");
