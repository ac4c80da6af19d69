import { createHash } from "node:crypto";
import { SHARED } from "../constants.ts";
import { assemble } from "./assemble.ts";
import { CORE } from "./core.ts";
import type { LibraryPart } from "./part.ts";
import type { VerbFunctions } from "./script.ts";

/** The options on which the text depends. */
export interface LibraryOptions {
  /** Messages stay within a shard: the store is a cluster. */
  readonly sharded: boolean;
  /** Every result has a Redis key of its own, which expires on time even on a store that cannot expire a field of a hash. */
  readonly strictResultTtl: boolean;
  /** What it has besides the core. */
  readonly parts: readonly LibraryPart[];
}

/** The text of a library, and the names that are in it. */
export interface LibraryText {
  readonly name: string;
  readonly text: string;
  /** The functions of each verb. */
  readonly functions: ReadonlyMap<string, VerbFunctions>;
}

const DIGEST_LENGTH = 8;
const REGISTERED = /^register(?:_hot)?\('(\w+)', \{(.*?)\}/gm;

/** The text of the library with these options. Its name and those of its functions carry a digest of the rest. */
export function libraryText({ sharded, strictResultTtl, parts }: LibraryOptions): LibraryText {
  const body = assemble([CORE, ...parts]);
  const publish = sharded ? "SPUBLISH" : "PUBLISH";
  const inlineResultBytes = strictResultTtl ? 0 : SHARED.inlineResultBytes;
  const options = `local OPTIONS = { publish = '${publish}', inlineResultBytes = ${inlineResultBytes} }\n`;
  const digest = createHash("sha1").update(options).update(body).digest("hex").slice(0, DIGEST_LENGTH);
  const name = `paihao_${digest}`;
  const functions = [...body.matchAll(REGISTERED)].map(([, verb = "", flags]): [string, VerbFunctions] => [
    verb,
    { name: `${verb}_${digest}`, ...(flags === "" && { reading: `${verb}_ro_${digest}` }) },
  ]);
  return {
    name,
    text: `#!lua name=${name}\nlocal DIGEST = '${digest}'\n${options}${body}`,
    functions: new Map(functions),
  };
}
