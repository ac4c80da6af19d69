import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { PaihaoError } from "../errors.ts";

const LUA_DIR = new URL("./lua/", import.meta.url);

/** What a script's reply is made of: strings where it was asked for as text, Buffers where as bytes. */
export type Reply = string | number | null | Reply[];
export type BytesReply = Buffer | number | null | BytesReply[];
export type Argument = string | number | Buffer;

/** Reads a Lua file and puts the named parts of `lua/lib` in place of its `--#include name` lines. */
export function luaSource(name: string): string {
  const text = readFileSync(new URL(`${name}.lua`, LUA_DIR), "utf8");
  const body = text.replace(/^--#include (\w+)$/gm, (_, part: string) =>
    readFileSync(new URL(`lib/${part}.lua`, LUA_DIR), "utf8"),
  );
  // Flags are for Redis 7 and later; older ones know no shebang and would not load it.
  const flags = /^-- flags: (.+)$/m.exec(text)?.[1];
  return flags === undefined ? body : `#!lua flags=${flags}\n${body}`;
}

/** One Lua file on one connection: sent by its digest, and whole when the server does not know it (yet, or any more). */
export class Script {
  readonly #redis: Redis;
  readonly #source: string;
  readonly #sha: string;

  constructor(redis: Redis, name: string, options: { flags: boolean }) {
    const source = luaSource(name);
    this.#redis = redis;
    this.#source = options.flags ? source : source.replace(/^#!.*\n/, "\n");
    this.#sha = createHash("sha1").update(this.#source).digest("hex");
  }

  /** Runs the script on a partition; the reply's strings are decoded as UTF-8. @throws PaihaoError, see {@link storeError} */
  async text(tag: string, args: readonly Argument[]): Promise<Reply> {
    try {
      return (await this.#redis.evalsha(this.#sha, 1, tag, ...args)) as Reply;
    } catch (error) {
      if (!isUnknownScript(error)) throw storeError(error);
    }
    try {
      return (await this.#redis.eval(this.#source, 1, tag, ...args)) as Reply;
    } catch (error) {
      throw storeError(error);
    }
  }

  /** The same with the reply's strings as bytes. @throws PaihaoError, see {@link storeError} */
  async bytes(tag: string, args: readonly Argument[]): Promise<BytesReply> {
    try {
      return (await this.#redis.callBuffer("EVALSHA", this.#sha, 1, tag, ...args)) as BytesReply;
    } catch (error) {
      if (!isUnknownScript(error)) throw storeError(error);
    }
    try {
      return (await this.#redis.callBuffer("EVAL", this.#source, 1, tag, ...args)) as BytesReply;
    } catch (error) {
      throw storeError(error);
    }
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

/** Replies of a Redis that is there but cannot serve now, and ioredis's own words for a connection that is not. */
const AWAY =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|MISCONF)|Connection is closed|Stream isn't writeable|Command timed out|Socket (timeout|closed)|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|max retries|MaxRetries/i;

/** The catalogue's word for what the store answered: store-full, store-unavailable, or else internal. */
export function storeError(error: unknown): PaihaoError {
  if (error instanceof PaihaoError) return error;
  const message = error instanceof Error ? error.message : String(error);
  // A script's own refusal at maxmemory comes wrapped in where it stood.
  if (/(^|\W)OOM command not allowed/.test(message)) return new PaihaoError("store-full", undefined, { cause: error });
  if (AWAY.test(message)) return new PaihaoError("store-unavailable", undefined, { cause: error });
  return new PaihaoError("internal", undefined, { cause: error });
}
