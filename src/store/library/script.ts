import { Command, type Redis } from "ioredis";
import { ProblemError } from "../../errors.ts";
import { nodesOf } from "../cluster-routing.ts";
import { CONNECTION_DEFAULTS, type Connection, isCluster } from "../connection.ts";
import { refusalOf } from "../refusal.ts";
import type { Argument, Reply } from "./reply.ts";
import type { Verb } from "./verb.ts";

/** Maximum number of items in a call of a script, so that no call blocks Redis for long. */
export const BATCH_LIMIT = 100;

/** The functions of a verb in the library. */
export interface VerbFunctions {
  readonly name: string;
  /**
   * The same without writes; only for a verb that may have nothing to write, such as a repeated submission, and that a server without room
   * would otherwise refuse as a whole.
   */
  readonly reading?: string;
}

/** The library with the functions, see library/library.ts. */
interface Library {
  functionsOf(verb: string): VerbFunctions;
  load(node: Redis): Promise<void>;
}

/** What all verbs of a connection are called through. */
export interface Through {
  readonly connection: Connection;
  readonly library: Library;
  /** Confirms the durability of what was written through a connection; undefined if nothing is to be confirmed. */
  readonly confirmation?: { confirm(node: Redis): Promise<boolean> } | undefined;
}

/** The call of a verb: its first argument is the tag of a partition, see keys.ts. @throws ProblemError, see {@link storeError} */
export type Call<Asked extends readonly unknown[], Answer> = (tag: string, ...asked: Asked) => Promise<Answer>;

/**
 * A verb on one connection: a function of the library, which is loaded if the server does not have it (yet, or any more). No async function
 * from here to the socket: each would add promises to every call.
 */
export function callOf<Asked extends readonly unknown[], Answer>(
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
        throw storeError(error);
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

/** Errors of a Redis that cannot serve now, and of ioredis for a missing connection. */
const AWAY =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|NOREPLICAS|MISCONF|ERR Function not found)|Connection is closed|no node has the slot|non local key|cluster is down|Cluster (isn't ready|is ended)|slots cache|redirections|startup nodes|sentinels are unreachable|Stream isn't writeable|Command timed out|Socket (timeout|closed)|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|max retries|MaxRetries/i;

/** The catalogue's error for an error of the store: store-full, store-unavailable, or else internal. */
export function storeError(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const message = error instanceof Error ? error.message : String(error);
  // At maxmemory the error of a script contains the position of the command.
  if (/(^|\W)OOM command not allowed/.test(message)) return new ProblemError("store-full", undefined, { cause: error });
  if (AWAY.test(message)) return new ProblemError("store-unavailable", undefined, { cause: error });
  return new ProblemError("internal", undefined, { cause: error });
}
