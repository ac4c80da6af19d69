import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from "node:http";
import https from "node:https";
import type { AddressGuard } from "./ssrf-guard.ts";

/** A request as it is sent. */
export interface OutgoingRequest extends Pick<RequestOptions, "method" | "path" | "agent" | "lookup"> {
  readonly headers: Readonly<Record<string, string>>;
  /** Sent with its Content-Length. */
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sends a request whose target some caller chose; resolves with the head of its answer, whose body is still to be read. Redirects
 * are not followed.
 * @throws TargetRefused when the guard does not let us contact it
 * @throws the error of the connection
 */
export async function sendGuarded(
  target: string | URL,
  guard: AddressGuard,
  request: Omit<OutgoingRequest, "agent" | "lookup" | "path">,
): Promise<IncomingMessage> {
  // Both judge: a name by its addresses when it is looked up, an address here, since Node looks up none for it.
  const url = guard.admit(target);
  // No agent: a connection that another request left open was checked for that request, not for this one.
  return await sendRequest(url, { ...request, agent: false, lookup: guard.lookup(url) });
}

/**
 * Sends a request; resolves with the head of its answer, whose body is still to be read.
 * @param watch is given the request before anything of it is sent
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
      // Some ends are neither, e.g. a switch of protocols that nobody asked for.
      .on("close", () => reject(new Error("the connection was closed without an answer")))
      .end(body);
  });
}
