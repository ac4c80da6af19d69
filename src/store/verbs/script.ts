import { Command, type Redis } from "ioredis";
import { ProblemError } from "../../errors.ts";
import type { Nodes } from "../cluster-routing.ts";
import { CONNECTION_DEFAULTS } from "../connection.ts";
import { refusalOf } from "../refusal.ts";

/** The parts of a script's reply: strings, or Buffers if bytes were requested. */
export type Reply = string | number | null | Reply[];
export type BytesReply = Buffer | number | null | BytesReply[];
export type Argument = string | number | Buffer;

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

/** A reply, and the connection that it came from. */
interface NodeReply {
  readonly reply: Reply;
  readonly node: Redis;
}

/** One verb: a function of the library, which is loaded if the server does not have it (yet, or any more). */
export class Script {
  readonly #nodes: Nodes;
  readonly #library: Library;
  readonly #name: string;
  /** The same without writes, if the server refuses it as a whole where it takes none. */
  readonly #reading: string | undefined;

  constructor(nodes: Nodes, library: Library, verb: string) {
    const { name, reading } = library.functionsOf(verb);
    this.#nodes = nodes;
    this.#library = library;
    this.#name = name;
    this.#reading = reading;
  }

  /**
   * Runs the script on a partition; the reply's strings are decoded as UTF-8.
   * @param patienceMs how long it is retried while a cluster is changing; by default as long as a command may take
   * @throws ProblemError, see {@link storeError}
   */
  text(tag: string, args: readonly Argument[], patienceMs?: number): Promise<Reply> {
    return this.#run(tag, patienceMs, (node) => this.#on<Reply>(node, tag, args, "utf8"));
  }

  /** The same, with the connection that was used. @throws ProblemError, see {@link storeError} */
  served(tag: string, args: readonly Argument[], patienceMs?: number): Promise<NodeReply> {
    return this.#run(tag, patienceMs, async (node) => ({
      reply: await this.#on<Reply>(node, tag, args, "utf8"),
      node,
    }));
  }

  /** Like `text`, with the reply's strings as bytes. @throws ProblemError, see {@link storeError} */
  bytes(tag: string, args: readonly Argument[], patienceMs?: number): Promise<BytesReply> {
    return this.#run(tag, patienceMs, (node) => this.#on<BytesReply>(node, tag, args, null));
  }

  /**
   * Like `text`, for a call that writes nothing; works also on a server that takes no writes. @throws ProblemError, see {@link storeError}
   */
  reading(tag: string, args: readonly Argument[]): Promise<Reply> {
    return this.#run(tag, undefined, (node) => this.#on<Reply>(node, tag, args, "utf8", this.#reading));
  }

  // No async functions from here to the socket: each would add promises to every call.

  #run<T>(tag: string, patienceMs: number | undefined, send: (node: Redis) => Promise<T>): Promise<T> {
    return this.#nodes.run(tag, send, patienceMs).catch((error: unknown) => {
      throw storeError(error);
    });
  }

  #on<T>(
    node: Redis,
    tag: string,
    args: readonly Argument[],
    encoding: "utf8" | null,
    name: string = this.#name,
  ): Promise<T> {
    const call = (of: string) =>
      node.sendCommand(new Command("fcall", [of, 1, tag, ...args], { replyEncoding: encoding })) as Promise<T>;
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
