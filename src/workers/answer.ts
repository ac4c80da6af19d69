import { BodyTooLong, type ReadLimits, readLimited } from "../read-limited.ts";
import type { Answer } from "../task.ts";
import { Unfit } from "./outcome.ts";

/** Response headers that say something of the connection or of this server, which a handler's Response does not decide. */
const NOT_KEPT = new Set([
  ...["connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "te", "trailer", "date", "server"],
  ...[
    "set-cookie",
    "x-request-id",
    "location",
    "retry-after",
    "etag",
    "expires",
    "cache-control",
    "vary",
    "content-type",
  ],
]);

/**
 * Makes the stored result of what a handler returned: a Response keeps its status, headers and bytes; bytes become
 * `application/octet-stream`, undefined a 204, anything else JSON. Only for a Response is there something to wait for.
 * The body of a Response is read as it comes and canceled at the limit: it may have no end.
 * @param task whose signal ends the reading of a Response
 * @throws Unfit above `maxBytes`; TypeError for what JSON cannot hold
 */
export function toResult(
  value: unknown,
  maxBytes: number,
  task: { readonly signal: AbortSignal },
): Answer | Promise<Answer> {
  if (value instanceof Response) return fromResponse(value, { maxBytes, signal: task.signal });
  if (value instanceof Uint8Array) {
    return within({ status: 200, contentType: "application/octet-stream", headers: {}, body: value }, maxBytes);
  }
  const json = JSON.stringify(value);
  if (json === undefined) return { status: 204, contentType: null, headers: {}, body: "" };
  return within({ status: 200, contentType: "application/json", headers: {}, body: json }, maxBytes);
}

/** @throws Unfit */
function within(answer: Answer, maxBytes: number): Answer {
  const bytes = Buffer.byteLength(answer.body);
  if (bytes > maxBytes) throw new Unfit(`the result has ${bytes} bytes, more than MAX_RESULT (${maxBytes})`);
  return answer;
}

async function fromResponse(response: Response, limits: ReadLimits): Promise<Answer> {
  if (response.bodyUsed) throw new TypeError("the body of the Response has been read before");
  if (response.status < 200) {
    await response.body?.cancel();
    throw new TypeError(`a Response of status ${response.status} is no answer`);
  }
  const body = await readLimited(response.body, limits).catch((error: unknown) => {
    if (!(error instanceof BodyTooLong)) throw error;
    throw new Unfit(`the result has more than ${limits.maxBytes} bytes, which is MAX_RESULT`);
  });
  return {
    status: response.status,
    contentType: response.headers.get("content-type") ?? (body.length > 0 ? "application/octet-stream" : null),
    headers: Object.fromEntries(
      [...response.headers].filter(([name]) => !NOT_KEPT.has(name) && !isUndone(name, response)),
    ),
    body,
  };
}

/** A response that was fetched has a URL, and a body that fetch has decoded: it is no longer encoded as its header says. */
function isUndone(name: string, response: Response): boolean {
  return name === "content-encoding" && response.url !== "";
}
