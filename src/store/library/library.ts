import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import { messageOf, reasonOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { type Connection, mastersOf } from "../connection.ts";
import { SHARED } from "../constants.ts";
import { assemble, type LibraryPart } from "./assemble.ts";
import { CORE } from "./core.ts";

/** The functions of a verb in the library. */
export interface VerbFunctions {
  readonly name: string;
  /**
   * The same without writes; only for a verb that may have nothing to write, such as a repeated submission, and that a server without room
   * would otherwise refuse as a whole.
   */
  readonly reading?: string;
}

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

/** The names of our libraries, as a pattern for FUNCTION LIST. */
const PATTERN = "paihao_*";

/** Each is made on first use, and shared by all connections. */
const made = new Map<string, Library>();

/** The library with these options. */
export function libraryWith(options: LibraryOptions): Library {
  const key = [options.sharded, options.strictResultTtl, ...options.parts.map(({ name }) => name)].join(" ");
  const library = made.get(key) ?? new Library(options);
  made.set(key, library);
  return library;
}

/**
 * All scripts, as one library of Redis Functions. The digest of its text is in its names, so that processes of several releases each find
 * their own. Redis replicates and saves it; if it is missing anyway, the caller that needs it loads it.
 */
export class Library {
  readonly name: string;
  readonly #text: string;
  readonly #functions: ReadonlyMap<string, VerbFunctions>;
  readonly #loading = new WeakMap<Redis, Promise<void>>();

  constructor(options: LibraryOptions) {
    const { name, text, functions } = libraryText(options);
    this.name = name;
    this.#text = text;
    this.#functions = functions;
  }

  /** @throws Error if there is no such verb */
  functionsOf(verb: string): VerbFunctions {
    const functions = this.#functions.get(verb);
    if (!functions) throw new Error(`the library has no ${verb}`);
    return functions;
  }

  /**
   * Loads it into a server that does not have it: once for all concurrent callers of a connection.
   * @throws Error that the store answered
   */
  load(node: Redis): Promise<void> {
    let loading = this.#loading.get(node);
    if (!loading) {
      loading = this.#load(node).finally(() => this.#loading.delete(node));
      this.#loading.set(node, loading);
    }
    return loading;
  }

  async #load(node: Redis): Promise<void> {
    try {
      await node.function("LOAD", this.#text);
    } catch (error) {
      // Another process was faster. The digest in the name says that the library is the same.
      if (!messageOf(error).includes("already exists")) throw error;
    }
  }

  /**
   * Loads it on every master that does not have it, and removes others: a process that still needs one loads it again. If that fails, the
   * first call and the next start do it.
   * @param others those that earlier starts on this store have used
   */
  async install(connection: Connection, others: readonly string[], log: Logger): Promise<void> {
    const settled = await Promise.allSettled(mastersOf(connection).map((node) => this.#install(node, others)));
    for (const one of settled)
      if (one.status === "rejected") log.debug({ reason: reasonOf(one.reason) }, "library: not installed on a master");
  }

  async #install(node: Redis, others: readonly string[]): Promise<void> {
    const names = await listed(node);
    if (!names.includes(this.name)) await this.load(node);
    for (const name of names) if (name !== this.name && others.includes(name)) await remove(node, name);
  }
}

/** Our libraries on a server. @throws Error that the store answered */
export async function listed(node: Redis): Promise<string[]> {
  const rows = (await node.function("LIST", "LIBRARYNAME", PATTERN)) as unknown[][];
  return rows.map((row) => String(row[row.indexOf("library_name") + 1]));
}

/** Removes a library, if it is still there. @throws Error that the store answered */
async function remove(node: Redis, name: string): Promise<void> {
  try {
    await node.function("DELETE", name);
  } catch (error) {
    if (!messageOf(error).includes("Library not found")) throw error;
  }
}
