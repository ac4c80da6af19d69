import { Command, type Redis } from "ioredis";
import { ProblemError } from "../../errors.ts";
import type { Nodes } from "../cluster-routing.ts";
import { CONNECTION_DEFAULTS } from "../connection.ts";
import { refusalOf } from "../refusal.ts";
import type { Verb } from "./codec.ts";
import type { Argument, Reply } from "./reply.ts";

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
  readonly nodes: Nodes;
  readonly library: Library;
  /** Confirms the durability of what was written through a connection. */
  readonly confirmation: { confirm(node: Redis): Promise<boolean> };
}

/** One verb on one connection: a function of the library, which is loaded if the server does not have it (yet, or any more). */
export class Script<Asked extends readonly unknown[], Answer> {
  readonly #verb: Verb<Asked, Answer>;
  readonly #nodes: Nodes;
  readonly #library: Library;
  readonly #confirmation: Through["confirmation"];
  readonly #name: string;
  /** The same without writes, if the server refuses it as a whole where it takes none. */
  readonly #reading: string | undefined;

  constructor(verb: Verb<Asked, Answer>, name: string, { nodes, library, confirmation }: Through) {
    const functions = library.functionsOf(name);
    this.#verb = verb;
    this.#nodes = nodes;
    this.#library = library;
    this.#confirmation = confirmation;
    this.#name = functions.name;
    this.#reading = functions.reading;
  }

  // No async functions from here to the socket: each would add promises to every call.

  /** Calls the verb on a partition. @throws ProblemError, see {@link storeError} */
  call(tag: string, asked: Asked): Promise<Answer> {
    const verb = this.#verb;
    const args = verb.write(...asked);
    const name = (verb.isReading?.(...asked) && this.#reading) || this.#name;
    let through: Redis;
    const send = (node: Redis) => {
      through = node;
      return this.#send(node, name, tag, args);
    };
    return this.#nodes.run(tag, send, verb.patienceMs).then(
      (reply) => {
        if (!verb.confirmed) return verb.read(reply, true);
        return this.#confirmation.confirm(through).then((durable) => verb.read(reply, durable));
      },
      (error: unknown) => {
        throw storeError(error);
      },
    );
  }

  #send(node: Redis, name: string, tag: string, args: readonly Argument[]): Promise<Reply> {
    const replyEncoding = this.#verb.bytes ? null : "utf8";
    const call = (of: string) =>
      node.sendCommand(new Command("fcall", [of, 1, tag, ...args], { replyEncoding })) as Promise<Reply>;
    return call(name).catch((error: unknown) => {
      if (isUnknownFunction(error)) return this.#loaded(node, () => call(name));
      if (this.#reading === undefined || refusalOf(error) === undefined) throw error;
      // A refused call may have nothing to write, e.g. because it is a repetition.
      return call(this.#reading).catch(() => {
        throw error;
      });
    });
  }

  /**
   * Loads the library, and calls; again if it was removed in between. The call does not wait for the answer to the load, so that hardly
   * anything can come between them.
   */
  async #loaded<T>(node: Redis, call: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + CONNECTION_DEFAULTS.commandMs;
    for (;;) {
      const [loaded, called] = await Promise.allSettled([this.#library.load(node), call()]);
      if (called.status === "fulfilled") return called.value;
      if (!isUnknownFunction(called.reason)) throw called.reason;
      if (loaded.status === "rejected") throw loaded.reason;
      if (performance.now() > deadline) throw called.reason;
    }
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
