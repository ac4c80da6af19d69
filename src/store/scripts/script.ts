import { createHash } from "node:crypto";
import { Command, type Redis } from "ioredis";
import { PaihaoError } from "../../errors.ts";
import type { Nodes } from "../cluster-routing.ts";
import { luaSource } from "./lua-source.ts";

/** The parts of a script's reply: strings, or Buffers if bytes were requested. */
export type Reply = string | number | null | Reply[];
export type BytesReply = Buffer | number | null | BytesReply[];
export type Argument = string | number | Buffer;

/** Maximum number of items in a call of a script, so that no call blocks Redis for long. */
export const BATCH_LIMIT = 100;

/** A reply, and the connection that it came from. */
interface Served {
  readonly reply: Reply;
  readonly node: Redis;
}

/** The features of the server that runs the scripts. */
export interface ScriptOptions {
  /** Script flags: Redis 7 and later. */
  readonly flags: boolean;
  /** Messages stay within a shard: a cluster of Redis 7 or later. */
  readonly sharded: boolean;
  /** Every result is a key of its own, which the store removes at its time also where it cannot expire a field of a hash. */
  readonly strictResultTtl: boolean;
}

/** One Lua file: called by its digest, and sent in full if the server does not know it (yet, or any more). */
export class Script {
  readonly #nodes: Nodes;
  readonly #source: string;
  readonly #sha: string;

  constructor(nodes: Nodes, name: string, options: ScriptOptions) {
    let source = luaSource(name);
    if (!options.flags) source = source.replace(/^#!.*\n/, "\n");
    if (options.sharded) source = source.replaceAll("redis.call('PUBLISH'", "redis.call('SPUBLISH'");
    if (options.strictResultTtl) source = source.replace(/^local inline_bytes = \d+$/m, "local inline_bytes = 0");
    this.#nodes = nodes;
    this.#source = source;
    this.#sha = createHash("sha1").update(source).digest("hex");
  }

  /**
   * Runs the script on a partition; the reply's strings are decoded as UTF-8.
   * @param patienceMs how long it is retried while a cluster is changing; by default as long as a command may take
   * @throws PaihaoError, see {@link storeError}
   */
  text(tag: string, args: readonly Argument[], patienceMs?: number): Promise<Reply> {
    return this.#run(tag, patienceMs, (node) => this.#on<Reply>(node, tag, args, "utf8"));
  }

  /** The same, with the connection that was used. @throws PaihaoError, see {@link storeError} */
  served(tag: string, args: readonly Argument[], patienceMs?: number): Promise<Served> {
    return this.#run(tag, patienceMs, async (node) => ({
      reply: await this.#on<Reply>(node, tag, args, "utf8"),
      node,
    }));
  }

  /** Like `text`, with the reply's strings as bytes. @throws PaihaoError, see {@link storeError} */
  bytes(tag: string, args: readonly Argument[], patienceMs?: number): Promise<BytesReply> {
    return this.#run(tag, patienceMs, (node) => this.#on<BytesReply>(node, tag, args, null));
  }

  /** Runs a script with several items and common arguments, which returns a verdict for each. */
  async verdicts<V extends string, T>(
    tag: string,
    items: readonly T[],
    write: (item: T) => readonly Argument[],
    ...shared: readonly Argument[]
  ): Promise<V[]> {
    return (await this.text(tag, [items.length, ...items.flatMap(write), ...shared])) as V[];
  }

  // No async functions from here to the socket: each would add promises to every call.

  #run<T>(tag: string, patienceMs: number | undefined, send: (node: Redis) => Promise<T>): Promise<T> {
    return this.#nodes.run(tag, send, patienceMs).catch((error: unknown) => {
      throw storeError(error);
    });
  }

  #on<T>(node: Redis, tag: string, args: readonly Argument[], encoding: "utf8" | null): Promise<T> {
    const send = (name: "evalsha" | "eval", script: string) =>
      node.sendCommand(new Command(name, [script, 1, tag, ...args], { replyEncoding: encoding })) as Promise<T>;
    return send("evalsha", this.#sha).catch((error: unknown) => {
      if (!isUnknownScript(error)) throw error;
      return send("eval", this.#source);
    });
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

/** Errors of a Redis that cannot serve now, and of ioredis for a missing connection. */
const AWAY =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|NOREPLICAS|MISCONF)|Connection is closed|no node has the slot|non local key|cluster is down|Cluster (isn't ready|is ended)|slots cache|redirections|startup nodes|sentinels are unreachable|Stream isn't writeable|Command timed out|Socket (timeout|closed)|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|max retries|MaxRetries/i;

/** The catalogue's error for an error of the store: store-full, store-unavailable, or else internal. */
export function storeError(error: unknown): PaihaoError {
  if (error instanceof PaihaoError) return error;
  const message = error instanceof Error ? error.message : String(error);
  // At maxmemory the error of a script contains the position of the command.
  if (/(^|\W)OOM command not allowed/.test(message)) return new PaihaoError("store-full", undefined, { cause: error });
  if (AWAY.test(message)) return new PaihaoError("store-unavailable", undefined, { cause: error });
  return new PaihaoError("internal", undefined, { cause: error });
}
