import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * Signs links, so that whoever has one can read one task without a key (the valet key pattern). What is signed is the id and
 * the time, under words of our own: a signature is good for reading this task and for nothing else, whatever path it is put on.
 */
export class LinkSigner {
  readonly #secret: string;
  readonly #ttlMs: number;
  readonly #now: () => number;

  /** @param now ms since 1970 */
  constructor(secret: string, ttlMs: number, now: () => number = Date.now) {
    this.#secret = secret;
    this.#ttlMs = ttlMs;
    this.#now = now;
  }

  /** The query, with its question mark, that lets its holder read the task from now on. */
  sign(id: string): string {
    const expires = String(Math.ceil((this.#now() + this.#ttlMs) / 1000));
    return `?expires=${expires}&signature=${this.#signature(id, expires).toString("base64url")}`;
  }

  /** Whether this was signed here for this task, and is still good. Takes the same time wherever a signature is wrong. */
  verify(id: string, expires: string, signature: string): boolean {
    if (!/^[1-9]\d{0,14}$/.test(expires) || this.#now() >= Number(expires) * 1000) return false;
    const given = Buffer.from(signature, "base64url");
    const right = this.#signature(id, expires);
    // The decoder passes over what is no base64url: only the one text that we write is taken.
    return given.length === right.length && timingSafeEqual(given, right) && given.toString("base64url") === signature;
  }

  #signature(id: string, expires: string): Buffer {
    return createHmac("sha256", this.#secret).update(`paihao link 1\nread\n${id}\n${expires}`).digest();
  }
}
