import { createHash, createHmac } from "node:crypto";

/** What marks a symmetric secret (Standard Webhooks 1.0, "Signature scheme"). */
const PREFIX = "whsec_";

/** One attempt to deliver an event, as it is signed. */
export interface SignedMessage {
  /** The same in every attempt. */
  readonly id: string;
  /** When this attempt is made, seconds since 1970. */
  readonly timestampS: number;
  readonly body: string;
}

/**
 * The `webhook-signature` of a message: one of every secret, with spaces between, so that receivers who know only the old or
 * only the new one can both verify it while it is changed.
 * @param secrets as `whsec_` and base64
 */
export function signatureOf(secrets: readonly string[], { id, timestampS, body }: SignedMessage): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), "base64");
      return `v1,${createHmac("sha256", key).update(`${id}.${timestampS}.${body}`).digest("base64")}`;
    })
    .join(" ");
}

/**
 * The `webhook-id` of an event. Made from the id of the task that delivers it, but not that id: what is signed is parted by
 * full stops, so a caller must not be able to put one into it; and it is kept by receivers, to whom our ids say nothing.
 */
export function messageId(taskId: string): string {
  return `msg_${createHash("sha256").update(taskId).digest("hex").slice(0, 32)}`;
}
