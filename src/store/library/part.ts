import type { Verb } from "./verb.ts";

/** What a name in Lua files stands for. */
export type Named = string | number | readonly number[];

/** What the library in Redis has from the core, or from an extra. */
export interface LibraryPart {
  /** Unique among the parts. */
  readonly name: string;
  /** Where its Lua files are. */
  readonly folder: URL;
  /** These, each after those whose tables it uses while it is loaded, see assemble.ts. */
  readonly files: readonly string[];
  /** What TypeScript knows of its verbs, by their names in the library. */
  readonly verbs: Readonly<Record<string, Pick<Verb<never, unknown>, "layout">>>;
  /** What it adds to the tables of names, see assemble.ts. */
  readonly tables?: Readonly<Record<string, Readonly<Record<string, Named>>>>;
}
