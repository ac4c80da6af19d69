import type { Redis } from "ioredis";
import type { Durability } from "../../config/variables.ts";
import { nodesOf } from "../cluster-routing.ts";
import { type Connection, isCluster, LARGE_VALUE_MS } from "../connection.ts";
import { Confirmation } from "../durability.ts";
import { type Library, type LibraryOptions, libraryWith } from "../library/library.ts";
import { reserve } from "./reserve.ts";
import { Script, storeError } from "./script.ts";
import * as VERBS from "./verbs.ts";

export type * from "./answers.ts";
export type * from "./attend.ts";
export type * from "./breaker.ts";
export type * from "./cancel.ts";
export type * from "./complete.ts";
export type * from "./dead.ts";
export type * from "./details.ts";
export { DETAILS_LIMITS } from "./details.ts";
export type * from "./fail.ts";
export type * from "./group.ts";
export type * from "./history.ts";
export type * from "./inspect.ts";
export type * from "./lease.ts";
export type * from "./move.ts";
export type * from "./output.ts";
export { OUTPUT_PAGE_BYTES } from "./output.ts";
export type * from "./page.ts";
export type * from "./pointer.ts";
export type * from "./probe.ts";
export type * from "./queue.ts";
export type * from "./register.ts";
export type * from "./reserve.ts";
export { BATCH_LIMIT } from "./script.ts";
export type * from "./settle.ts";
export type * from "./snapshot.ts";
export type * from "./step.ts";
export type * from "./submit.ts";
export type * from "./tick.ts";
export type * from "./update.ts";
export type * from "./verify.ts";

/** Every script as one typed function; nothing else runs them. The first argument is the tag of a partition, see keys.ts. */
export type Scripts = {
  [Name in keyof typeof VERBS]: ReturnType<(typeof VERBS)[Name]>;
} & {
  /** The bytes of a key, read outside of scripts; null if there is none. @throws ProblemError, see {@link storeError} */
  readonly value: (tag: string, key: string) => Promise<Buffer | null>;
  /** A part of such a key; null if the key does not have that many bytes in all. @throws ProblemError, see {@link storeError} */
  readonly piece: (tag: string, key: string, part: Part) => Promise<Buffer | null>;
};

/** A part of a value. */
interface Part {
  readonly from: number;
  readonly bytes: number;
  /** The length of the whole value. */
  readonly of: number;
}

/**
 * Options of the library that differ from the default. Whether results have Redis keys of their own: see {@link Config.strictResultTtl}.
 */
type UsedLibrary = Partial<LibraryOptions>;

interface ScriptsOptions extends UsedLibrary {
  /**
   * The durability of submissions; above `memory`, on a connection of its own, since waiting for a disk or a replica blocks
   * everything behind it.
   */
  readonly durability?: Durability;
}

/** The script that reserves, on a connection of its own. */
export function reserveOn(connection: Connection, options: UsedLibrary = {}): Scripts["reserve"] {
  return reserve(
    new Script(nodesOf(connection), libraryOf(connection, options), "reserve"),
    new Confirmation("memory"),
  );
}

/** The library for a connection; `sharded` is for a connection to one node of a cluster. */
export function libraryOf(
  connection: Connection,
  { sharded = isCluster(connection), strictResultTtl = false }: UsedLibrary,
): Library {
  return libraryWith({ sharded, strictResultTtl });
}

/** The scripts, run through a connection. */
export function scriptsOf(connection: Connection, options: ScriptsOptions = {}): Scripts {
  const nodes = nodesOf(connection);
  const library = libraryOf(connection, options);
  const confirmation = new Confirmation(options.durability ?? "memory");
  const calls = Object.entries(VERBS).map(([name, verb]) => [
    name,
    verb(new Script(nodes, library, name), confirmation),
  ]);
  const read = async <T>(tag: string, command: (node: Redis) => Promise<T>): Promise<T> => {
    try {
      return await nodes.run(tag, command, LARGE_VALUE_MS);
    } catch (error) {
      throw storeError(error);
    }
  };
  const value: Scripts["value"] = (tag, key) => read(tag, (node) => node.getBuffer(key));
  const piece: Scripts["piece"] = async (tag, key, { from, bytes, of }) => {
    const [total, part] = await read(tag, (node) =>
      Promise.all([node.strlen(key), node.getrangeBuffer(key, from, from + bytes - 1)]),
    );
    // A copy, since the client of the store returns a view of a block that may be many times as long.
    return total === of ? Buffer.from(part) : null;
  };
  return { ...Object.fromEntries(calls), value, piece };
}
