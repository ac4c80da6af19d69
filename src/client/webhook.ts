import { TOLERANCE_S } from "./figures.ts";
import { errorOf, ownProblem, type PaihaoError } from "./problem.ts";
import type { SucceededStatus, UnsuccessfulStatus } from "./status.ts";

/** An event that a webhook got. */
export interface WebhookEvent {
  /** The same in every attempt to deliver the event, so that duplicates can be dropped. */
  readonly id: string;
  readonly type: "task.succeeded" | "task.failed" | "task.canceled";
  /** When the task ended, RFC 3339. */
  readonly timestamp: string;
  /** The task; only `id`, `queue` and `state` if the rest has expired. */
  readonly data: Pick<SucceededStatus | UnsuccessfulStatus, "id" | "state"> &
    Partial<SucceededStatus | UnsuccessfulStatus>;
}

/** A request as a server receives it: the body must be unchanged, byte for byte. */
export interface WebhookRequest {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string | Uint8Array;
}

/**
 * The event of a webhook, if it was signed with the secret within the last five minutes (Standard Webhooks 1.0).
 * @param secret `whsec_…`; several while it is being changed
 * @throws PaihaoError `unauthorized`; TypeError for an invalid secret
 */
export async function verifyWebhook(
  request: Request | WebhookRequest,
  secret: string | readonly string[],
  nowMs = Date.now(),
): Promise<WebhookEvent> {
  const { headers } = request;
  const header = (name: string) => `${(headers instanceof Headers ? headers.get(name) : headers[name]) ?? ""}`;
  const text = await new Response(request.body as string).text();
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  if (!/^\d+$/.test(timestamp) || Math.abs(nowMs / 1000 - +timestamp) > TOLERANCE_S)
    throw unverified("webhook-timestamp");
  const message = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const signatures = header("webhook-signature").split(" ");
  for (const one of [secret].flat()) {
    const raw = bytesOf(one.replace(/^whsec_/, ""));
    if (!raw) throw new TypeError("secret is not valid");
    const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures) {
      const bytes = bytesOf(signature.split(/^v1,/)[1] ?? "");
      // In constant time.
      if (bytes && (await crypto.subtle.verify("HMAC", key, bytes, message))) return { id, ...JSON.parse(text) };
    }
  }
  throw unverified("webhook-signature");
}

function unverified(detail: string): PaihaoError {
  return errorOf(ownProblem("Not a valid webhook", 401, detail));
}

/** The bytes of base64 text; undefined if it is invalid. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
