import { createHmac, timingSafeEqual } from "node:crypto";

/** The task that a link is for: an id may be given to another one when this is forgotten. */
export interface SignedTask {
  readonly id: string;
  readonly createdMs: number;
}

/**
 * Signs links, so that whoever has one can read one task without a key (the valet key pattern). What is signed is the id, when the
 * task was created, and until when, under words of our own: a signature is good for reading this task and for nothing else,
 * whatever path it is put on, and not for another task that is given the same id later.
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
  sign(task: SignedTask): string {
    const expires = String(Math.ceil((this.#now() + this.#ttlMs) / 1000));
    return `?expires=${expires}&signature=${this.#signature(task, expires).toString("base64url")}`;
  }

  /** Whether a link that is good until then is good now: without a look at the task that is all there is to see. */
  isCurrent(expires: string): boolean {
    return /^[1-9]\d{0,14}$/.test(expires) && this.#now() < Number(expires) * 1000;
  }

  /** Whether this was signed here for this task, and is still good. Takes the same time wherever a signature is wrong. */
  verify(task: SignedTask, expires: string, signature: string): boolean {
    if (!this.isCurrent(expires)) return false;
    const given = Buffer.from(signature, "base64url");
    const right = this.#signature(task, expires);
    // The decoder passes over what is no base64url: only the one text that we write is taken.
    return given.length === right.length && timingSafeEqual(given, right) && given.toString("base64url") === signature;
  }

  #signature({ id, createdMs }: SignedTask, expires: string): Buffer {
    const text = `paihao link 2\nread\n${id}\n${createdMs}\n${expires}`;
    return createHmac("sha256", this.#secret).update(text).digest();
  }
}
