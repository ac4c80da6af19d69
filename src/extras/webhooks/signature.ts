import { createHash, createHmac } from "node:crypto";

/** The prefix of a symmetric secret (Standard Webhooks 1.0, "Signature scheme"). */
const PREFIX = "whsec_";

/** What is signed: one attempt to deliver an event. */
export interface SignedMessage {
  /** The same in every attempt. */
  readonly id: string;
  /** When this attempt is made, seconds since 1970. */
  readonly timestampS: number;
  readonly body: string;
}

/**
 * The `webhook-signature` of a message: one signature for each secret, separated by spaces, so that while the secret is being
 * changed, receivers with either the old or the new one can verify it.
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
 * The `webhook-id` of an event. A hash of the id of the delivering task, not that id itself: full stops separate the parts of
 * the signed text, so a caller must not be able to put one into the id.
 */
export function messageId(taskId: string): string {
  return `msg_${createHash("sha256").update(taskId).digest("hex").slice(0, 32)}`;
}
