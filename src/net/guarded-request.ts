import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from "node:http";
import https from "node:https";
import type { AddressGuard } from "./ssrf-guard.ts";

/** An outgoing request. */
export interface OutgoingRequest extends Pick<RequestOptions, "method" | "path" | "agent" | "lookup"> {
  readonly headers: Readonly<Record<string, string>>;
  /** Sent with its Content-Length. */
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sends a request to a target that a caller chose; resolves with the head of the response, before its body is read. Redirects
 * are not followed.
 * @throws TargetRefused if the guard does not allow the target
 * @throws the error of the connection
 */
export async function sendGuarded(
  target: string | URL,
  guard: AddressGuard,
  request: Omit<OutgoingRequest, "agent" | "lookup" | "path">,
): Promise<IncomingMessage> {
  // Both are needed: names are checked when they are looked up, and addresses here, since Node does not look them up.
  const url = guard.admit(target);
  // No agent: a kept-alive connection was checked for an earlier request, not for this one.
  return await sendRequest(url, { ...request, agent: false, lookup: guard.lookup(url) });
}

/**
 * Sends a request; resolves with the head of the response, before its body is read.
 * @param watch called with the request before anything of it is sent
 * @throws the error of the connection
 * @throws TypeError for a header that cannot be sent
 */
export function sendRequest(
  url: URL,
  { headers, body, ...options }: OutgoingRequest,
  watch?: (request: ClientRequest) => void,
): Promise<IncomingMessage> {
  const framed = body === undefined ? headers : { ...headers, "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request(url, { ...options, headers: framed });
    watch?.(request);
    request
      .on("response", resolve)
      .on("error", reject)
      // Sometimes there is neither a response nor an error, e.g. after an unrequested protocol switch.
      .on("close", () => reject(new Error("the connection was closed without an answer")));
    // Not by `end`, where Node changes bytes of Content-Disposition above 0x7F.
    if (body !== undefined) request.write(body);
    request.end();
  });
}
