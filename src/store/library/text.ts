import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { luaSource } from "../scripts/lua-source.ts";

/** What the text depends on. */
export interface LibraryOptions {
  /** Messages stay within a shard: the store is a cluster. */
  readonly sharded: boolean;
  /** Every result is a key of its own, which the store removes at its time also where it cannot expire a field of a hash. */
  readonly strictResultTtl: boolean;
}

/** The text of a library, and the names that are in it. */
export interface LibraryText {
  readonly name: string;
  readonly text: string;
  /** The functions of each verb. */
  readonly functions: ReadonlyMap<string, VerbFunctions>;
}

/** The functions of a verb. */
export interface VerbFunctions {
  readonly name: string;
  /**
   * The same without writes; only of a verb that needs room to write and that a server refuses as a whole when it takes no writes, though
   * there may be nothing to write, e.g. for a submission that is stored already.
   */
  readonly reading?: string;
}

const LUA_DIR = new URL("../scripts/lua/", import.meta.url);
/** The digest of the text with this in its place is the digest in the names. */
const NO_DIGEST = "00000000";

/** The text of the library with these options. Its name and those of its functions carry a digest of the rest. */
export function libraryText(options: LibraryOptions): LibraryText {
  const verbs = readdirSync(LUA_DIR).flatMap((file) => (file.endsWith(".lua") ? [file.slice(0, -".lua".length)] : []));
  const scripts = verbs.map((verb) => scriptOf(verb, options));
  const parts = (digest: string) => scripts.map((script) => registered(script, digest));
  const digest = createHash("sha1").update(parts(NO_DIGEST).join("")).digest("hex").slice(0, NO_DIGEST.length);
  const name = `paihao_${digest}`;
  return {
    name,
    text: `#!lua name=${name}\n${parts(digest).join("")}`,
    functions: new Map(scripts.map((script) => [script.verb, functionsOf(script, digest)])),
  };
}

/** A script, and what a server may do with it at its memory limit or where it takes no writes. */
interface VerbScript {
  readonly verb: string;
  readonly lua: string;
  readonly flag: string | undefined;
}

function scriptOf(verb: string, { sharded, strictResultTtl }: LibraryOptions): VerbScript {
  const source = luaSource(verb);
  const [head = "", flag] = /^#!lua flags=(\S+)\n/.exec(source) ?? [];
  let lua = source.slice(head.length);
  if (sharded) lua = lua.replaceAll("redis.call('PUBLISH'", "redis.call('SPUBLISH'");
  if (strictResultTtl) lua = lua.replace(/^local inline_bytes = \d+$/m, "local inline_bytes = 0");
  return { verb, lua, flag };
}

function functionsOf({ verb, flag }: VerbScript, digest: string): VerbFunctions {
  const name = `${verb}_${digest}`;
  return flag === undefined ? { name, reading: `${verb}_ro_${digest}` } : { name };
}

function registered(script: VerbScript, digest: string): string {
  const { name, reading } = functionsOf(script, digest);
  const register = (as: string, flag = "") =>
    `redis.register_function{ function_name = '${as}', callback = run, flags = { ${flag && `'${flag}'`} } }\n`;
  const twin = reading === undefined ? "" : register(reading, "no-writes");
  return `do local run = function(KEYS, ARGV)\n${script.lua}\nend\n${register(name, script.flag)}${twin}end\n`;
}
