import type { Redis } from "ioredis";
import { messageOf, reasonOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { type Connection, mastersOf } from "../connection.ts";
import type { VerbFunctions } from "./script.ts";
import { type LibraryOptions, libraryText } from "./text.ts";

export type { LibraryOptions };

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
