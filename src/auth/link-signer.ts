import { createHmac, timingSafeEqual } from "node:crypto";

/** What a link is for: to read a task or a group, which may have the same id and be created in the same millisecond; or to end a turn. */
export type LinkKind = "task" | "group" | "turn";

/** The task or group that a link is for. The creation time is part of it, since the id may be used again once the task is deleted. */
export interface SignedSubject {
  readonly id: string;
  readonly createdMs: number;
  /** Of a link that ends a turn: that of the turn, so that it ends no other. */
  readonly fence?: string | null;
}

/**
 * Signs links, so that anyone who has one can read one task or group, or end one turn, without a key (the valet key pattern). The signature
 * covers the kind, the id, the creation time, the fence of a turn, and the expiry, with a fixed context: it only allows this, on whatever
 * path it is used, and not with another task that gets the same id later.
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

  /** The query string, with its question mark, that allows it from now on. */
  sign(kind: LinkKind, subject: SignedSubject): string {
    const expires = String(Math.ceil((this.#now() + this.#ttlMs) / 1000));
    return `?expires=${expires}&signature=${this.#signature(kind, subject, expires).toString("base64url")}`;
  }

  /** Whether a link with this expiry is still current: all that can be checked without reading the task. */
  isCurrent(expires: string): boolean {
    return /^[1-9]\d{0,14}$/.test(expires) && this.#now() < Number(expires) * 1000;
  }

  /** Whether the signature is ours, for this task, and not expired. Compared in constant time. */
  verify(kind: LinkKind, subject: SignedSubject, expires: string, signature: string): boolean {
    if (!this.isCurrent(expires)) return false;
    const given = Buffer.from(signature, "base64url");
    const right = this.#signature(kind, subject, expires);
    // The decoder ignores invalid characters: only the exact text that we write is accepted.
    return given.length === right.length && timingSafeEqual(given, right) && given.toString("base64url") === signature;
  }

  #signature(kind: LinkKind, { id, createdMs, fence }: SignedSubject, expires: string): Buffer {
    const what = kind === "turn" ? `end turn ${fence}` : `read ${kind}`;
    const text = `paihao link 3\n${what}\n${id}\n${createdMs}\n${expires}`;
    return createHmac("sha256", this.#secret).update(text).digest();
  }
}
