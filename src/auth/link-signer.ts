import { createHmac, timingSafeEqual } from "node:crypto";

/** The task that a link is for. The creation time is part of it, since the id may be used again once the task is deleted. */
export interface SignedTask {
  readonly id: string;
  readonly createdMs: number;
}

/**
 * Signs links, so that anyone who has one can read one task without a key (the valet key pattern). The signature covers the id,
 * the creation time of the task, and the expiry, with a fixed context: it only allows reading this task, on whatever path it is
 * used, and not another task that gets the same id later.
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

  /** The query string, with its question mark, that allows reading the task from now on. */
  sign(task: SignedTask): string {
    const expires = String(Math.ceil((this.#now() + this.#ttlMs) / 1000));
    return `?expires=${expires}&signature=${this.#signature(task, expires).toString("base64url")}`;
  }

  /** Whether a link with this expiry is still current: all that can be checked without reading the task. */
  isCurrent(expires: string): boolean {
    return /^[1-9]\d{0,14}$/.test(expires) && this.#now() < Number(expires) * 1000;
  }

  /** Whether the signature is ours, for this task, and not expired. Compared in constant time. */
  verify(task: SignedTask, expires: string, signature: string): boolean {
    if (!this.isCurrent(expires)) return false;
    const given = Buffer.from(signature, "base64url");
    const right = this.#signature(task, expires);
    // The decoder ignores invalid characters: only the exact text that we write is accepted.
    return given.length === right.length && timingSafeEqual(given, right) && given.toString("base64url") === signature;
  }

  #signature({ id, createdMs }: SignedTask, expires: string): Buffer {
    const text = `paihao link 2\nread\n${id}\n${createdMs}\n${expires}`;
    return createHmac("sha256", this.#secret).update(text).digest();
  }
}
