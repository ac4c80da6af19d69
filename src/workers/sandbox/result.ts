import { answerOf } from "../../engine/answer.ts";
import { keptHeaders } from "../../handler/result-headers.ts";
import { BodyTooLong, type ReadLimits, readLimited } from "../../net/read-limited.ts";
import type { Answer } from "../../task.ts";
import { Unfit } from "./handler-end.ts";

/**
 * The result of what a handler returned: a Response keeps its status, headers and bytes; see {@link answerOf} for anything else.
 * Only for a Response is there something to wait for.
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
  return toAnswer(value, maxBytes);
}

/** The same for anything but a Response. @throws Unfit, TypeError */
export function toAnswer(value: unknown, maxBytes: number): Answer {
  const answer = answerOf(value);
  const bytes = Buffer.byteLength(answer.body);
  if (bytes > maxBytes) throw new Unfit(`the result has ${bytes} bytes, more than MAX_RESULT (${maxBytes})`);
  return answer;
}

async function fromResponse(response: Response, limits: ReadLimits): Promise<Answer> {
  if (response.bodyUsed) throw new TypeError("the body of the Response has already been read");
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
    headers: headersOf(response, body.length === 0),
    body,
  };
}

function headersOf(response: Response, empty: boolean): Record<string, string> {
  const kept = keptHeaders(response.headers);
  // A response that was fetched has a URL, and a body that fetch has decoded: it is no longer encoded as its header says.
  if (response.url !== "") delete kept["content-encoding"];
  // How long a body would be that is not there: said in answer to HEAD.
  const length = response.headers.get("content-length");
  return empty && length !== null ? { ...kept, "content-length": length } : kept;
}
