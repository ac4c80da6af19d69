import { answerOf, sizeError } from "../../engine/tasks/result.ts";
import { keptHeaders } from "../../handler/result-headers.ts";
import { BodyTooLong, type ReadLimits, readLimited } from "../../net/read-limited.ts";
import type { Answer } from "../../task.ts";
import { PermanentError } from "./handler-end.ts";

/**
 * The result of what a handler returned: a Response keeps its status, headers and bytes, a Blob its type and bytes, a stream its bytes;
 * see {@link answerOf} for anything else. Only these need a promise. A body may be endless, so it is read as a stream and canceled at the
 * limit.
 * @param task its signal ends the reading
 * @throws PermanentError above `maxBytes`; TypeError for a value that JSON cannot represent
 */
export function toResult(
  value: unknown,
  maxBytes: number,
  task: { readonly signal: AbortSignal },
): Answer | Promise<Answer> {
  if (isBody(value)) {
    const response = value instanceof Response ? value : new Response(value);
    return fromResponse(response, { maxBytes, signal: task.signal });
  }
  return toAnswer(value, maxBytes);
}

/** Whether a value has to be read. */
export function isBody(value: unknown): value is Response | Blob | ReadableStream {
  return value instanceof Response || value instanceof Blob || value instanceof ReadableStream;
}

/** The same for what need not be read. @throws PermanentError, TypeError */
export function toAnswer(value: unknown, maxBytes: number): Answer {
  const answer = answerOf(value);
  const tooLarge = sizeError(answer, maxBytes);
  if (tooLarge) throw new PermanentError(tooLarge);
  return answer;
}

async function fromResponse(response: Response, limits: ReadLimits): Promise<Answer> {
  if (response.bodyUsed) throw new TypeError("the body of the Response has already been read");
  if (response.status < 200) {
    await response.body?.cancel();
    throw new TypeError(`a Response of status ${response.status} is not a result`);
  }
  const body = await readLimited(response.body, limits).catch((error: unknown) => {
    if (!(error instanceof BodyTooLong)) throw error;
    throw new PermanentError(`the result has more than ${limits.maxBytes} bytes, which is MAX_RESULT`);
  });
  return {
    status: response.status,
    contentType: response.headers.get("content-type") ?? (body.length > 0 ? "application/octet-stream" : null),
    headers: headersOf(response, body.length === 0),
    body,
  };
}

function headersOf(response: Response, empty: boolean): Record<string, string> {
  const kept = keptHeaders(response.headers);
  // A fetched response has a URL, and fetch has decoded its body, so its Content-Encoding no longer applies.
  if (response.url !== "") delete kept["content-encoding"];
  // In a response to HEAD, this is the length of the body that GET would return.
  const length = response.headers.get("content-length");
  return empty && length !== null ? { ...kept, "content-length": length } : kept;
}
