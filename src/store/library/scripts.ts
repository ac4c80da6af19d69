import { Command, type Redis } from "ioredis";
import type { Durability } from "../../config/variables.ts";
import { nodesOf } from "../cluster-routing.ts";
import { CONNECTION_DEFAULTS, type Connection, isCluster, LARGE_VALUE_MS, placeOfConnection } from "../connection.ts";
import { Confirmation } from "../durability.ts";
import { reserve } from "../line/reserve.ts";
import { refusalOf, storeError } from "../store-error.ts";
import type { LibraryPart } from "./assemble.ts";
import { type Library, type LibraryOptions, libraryWith } from "./library.ts";
import type { Argument, Reply, Verb } from "./verb.ts";
import * as VERBS from "./verbs.ts";

type Verbs = typeof VERBS;

/** The call of a verb: its first argument is the tag of a partition, see keys.ts. @throws ProblemError, see {@link storeError} */
type Call<Asked extends readonly unknown[], Answer> = (tag: string, ...asked: Asked) => Promise<Answer>;

/** The calls of verbs, by name. */
export type CallsOf<Verbs> = {
  [Name in keyof Verbs]: Verbs[Name] extends Verb<infer Asked, infer Answer> ? Call<Asked, Answer> : never;
};

/** Every verb on one connection; nothing else calls them. */
export type Scripts = CallsOf<Verbs> & {
  /** The verbs of an extra, which its part of the library has. @throws Error if the library has not */
  readonly of: <Others extends LibraryPart["verbs"]>(verbs: Others) => CallsOf<Others>;
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
 * Default of the parts: only the core.
 */
export type UsedLibrary = Partial<LibraryOptions>;

interface ScriptsOptions extends UsedLibrary {
  /**
   * The durability of submissions; above `memory`, on a connection of its own, since waiting for a disk or a replica blocks
   * everything behind it.
   */
  readonly durability?: Durability;
}

/** What all verbs of a connection are called through. */
interface Through {
  readonly connection: Connection;
  readonly library: Library;
  /** Confirms the durability of what was written through a connection; undefined if nothing is to be confirmed. */
  readonly confirmation?: { confirm(node: Redis): Promise<boolean> } | undefined;
}

/** The verb that reserves, on a connection of its own. */
export function reserveOn(connection: Connection, options: UsedLibrary = {}): Scripts["reserve"] {
  return callOf(reserve, "reserve", throughOf(connection, options));
}

function throughOf(connection: Connection, { durability = "memory", ...options }: ScriptsOptions): Through {
  const confirmation = durability === "memory" ? undefined : new Confirmation(durability);
  return { connection, library: libraryOf(connection, options), confirmation };
}

function callsOf<Verbs extends object>(verbs: Verbs, through: Through): CallsOf<Verbs> {
  const calls = Object.entries(verbs).map(([name, verb]) => [name, callOf(verb, name, through)]);
  return Object.fromEntries(calls);
}

/** The library for a connection; `sharded` is for a connection to one node of a cluster. */
export function libraryOf(
  connection: Connection,
  { sharded = isCluster(connection), strictResultTtl = false, parts = [] }: UsedLibrary,
): Library {
  return libraryWith({ sharded, strictResultTtl, parts });
}

/** The scripts, run through a connection. */
export function scriptsOf(connection: Connection, options: ScriptsOptions = {}): Scripts {
  const through = throughOf(connection, options);
  const nodes = nodesOf(connection);
  const of: Scripts["of"] = (verbs) => callsOf(verbs, through);
  const read = async <T>(tag: string, command: (node: Redis) => Promise<T>): Promise<T> => {
    try {
      return await nodes.run(tag, command, LARGE_VALUE_MS);
    } catch (error) {
      throw storeError(error, placeOfConnection(connection));
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
  return { ...callsOf(VERBS, through), of, value, piece };
}

/**
 * A verb on one connection: a function of the library, which is loaded if the server does not have it (yet, or any more). No async function
 * from here to the socket: each would add promises to every call.
 */
function callOf<Asked extends readonly unknown[], Answer>(
  verb: Verb<Asked, Answer>,
  name: string,
  { connection, library, confirmation }: Through,
): Call<Asked, Answer> {
  const functions = library.functionsOf(name);
  const options = { replyEncoding: verb.bytes ? null : "utf8" } as const;
  const nodes = isCluster(connection) ? nodesOf(connection) : undefined;
  return (tag, ...asked) => {
    const of = (verb.isReading?.(...asked) && functions.reading) || functions.name;
    const args: Argument[] = [of, 1, tag];
    for (const arg of verb.write(...asked)) args.push(arg);
    let through = connection as Redis;
    const send = (node: Redis): Promise<Reply> => {
      through = node;
      const call = (name = of) => {
        args[0] = name;
        return node.sendCommand(new Command("fcall", args, options)) as Promise<Reply>;
      };
      return call().catch((error: unknown) => {
        if (isUnknownFunction(error)) return loaded(library, node, call);
        if (functions.reading === undefined || refusalOf(error) === undefined) throw error;
        // A refused call may have nothing to write, e.g. because it is a repetition.
        return call(functions.reading).catch(() => {
          throw error;
        });
      });
    };
    return (nodes ? nodes.run(tag, send, verb.patienceMs) : send(through)).then(
      (reply) => {
        if (!verb.confirmed || !confirmation) return verb.read(reply, true);
        return confirmation.confirm(through).then((durable) => verb.read(reply, durable));
      },
      (error: unknown) => {
        throw storeError(error, placeOfConnection(through));
      },
    );
  };
}

/**
 * Loads the library, and calls; again if it was removed in between. The call does not wait for the answer to the load, so that hardly
 * anything can come between them.
 */
async function loaded<T>(library: Library, node: Redis, call: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + CONNECTION_DEFAULTS.commandMs;
  for (;;) {
    const [load, called] = await Promise.allSettled([library.load(node), call()]);
    if (called.status === "fulfilled") return called.value;
    if (!isUnknownFunction(called.reason)) throw called.reason;
    if (load.status === "rejected") throw load.reason;
    if (performance.now() > deadline) throw called.reason;
  }
}

function isUnknownFunction(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("ERR Function not found");
}
