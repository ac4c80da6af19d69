import type { ServerResponse } from "node:http";
import type { Context } from "koa";

/** What every answer says, whoever sends it. */
interface CommonFields {
  readonly requestId: string;
  /** Its URL also answers otherwise, as Prefer asks, which caches must know (RFC 7240 §2). */
  readonly varies: boolean;
  /** The server stops: an answer that does not end its connection could delay that forever. */
  readonly stopping: AbortSignal;
}

/** Notes what the answer to a request will say besides; it is set when the answer is sent, see {@link answerAtOnce}. */
export function noteCommonFields(ctx: Context, fields: CommonFields): void {
  ctx.state.commonFields = fields;
}

/**
 * Sets these fields for an answer that Koa or the calling code sends. Browsers must not guess its type; and unless it says how long it may be
 * kept, nobody may keep it.
 */
export function setCommonFields(ctx: Context): void {
  const { res } = ctx;
  const noted = ctx.state.commonFields as CommonFields | undefined;
  if (res.headersSent || !noted) return;
  const { requestId, varies, stopping } = noted;
  ctx.set("X-Content-Type-Options", "nosniff");
  ctx.set("X-Request-Id", requestId);
  if (!res.hasHeader("Cache-Control") && !res.hasHeader("Expires")) ctx.set("Cache-Control", "no-store");
  if (varies) ctx.set("Vary", ["Prefer", res.getHeader("Vary") ?? []].flat().join(", "));
  if (stopping.aborted) ctx.set("Connection", "close");
}

/**
 * Answers with a head and a body that are complete. They are written at once: with each field set by itself, an accept takes a twelfth more
 * CPU (`npm run bench -- accept`).
 * @param fields names and values in turns, besides the common ones; Cache-Control or Expires among them
 * @param body text of ASCII characters, or bytes
 */
export function answerAtOnce(ctx: Context, status: number, fields: readonly string[], body: string | Buffer): void {
  const { res } = ctx;
  ctx.respond = false;
  if (res.destroyed) return;
  const length = ["Content-Length", String(body.length)];
  // Node would replace what is set already by what is written.
  const noted = ctx.state.commonFields as CommonFields;
  if (res.getHeaderNames().length > 0) {
    setFields(ctx, fields);
    setCommonFields(ctx);
    res.writeHead(status, length);
  } else {
    const { requestId, varies, stopping } = noted;
    const head = ["X-Content-Type-Options", "nosniff", "X-Request-Id", requestId, ...fields, ...length];
    if (varies) head.push("Vary", "Prefer");
    if (stopping.aborted) head.push("Connection", "close");
    res.writeHead(status, head);
  }
  res.end(body, "latin1");
}

/** Fields of which there may be several. */
const LISTS: ReadonlySet<string> = new Set(["link", "vary", "content-security-policy"]);

/** Sets header fields, names and values in turns. */
export function setFields(ctx: Context, fields: readonly string[]): void {
  for (let i = 0; i < fields.length; i += 2) {
    const [name = "", value = ""] = [fields[i], fields[i + 1]];
    // Not ctx.vary(), which throws if a value contains what is not a name.
    if (LISTS.has(name.toLowerCase())) ctx.append(name, value);
    else ctx.set(name, value);
  }
}

/** Leaves the answer to the calling code, which writes head and body. */
export function handOver(ctx: Context): ServerResponse {
  ctx.respond = false;
  setCommonFields(ctx);
  return ctx.res;
}

/** Calls back once a response has been sent or its connection has gone: at once if that has already happened. */
export function whenClosed(res: ServerResponse, then: () => void): void {
  if (res.destroyed) then();
  else res.once("close", then);
}

/**
 * Sends the parts of a response as they come, each once the client has read those before it, then ends it. Not a stream pipeline, which
 * makes an AbortError with a stack for every response.
 * @param format the text of a part
 * @param maxBytes what may wait for the client before the next part is asked for
 * @throws what the parts throw
 */
export async function sendParts<Part>(
  res: ServerResponse,
  parts: AsyncIterable<Part> | Iterable<Part>,
  format: (part: Part) => string,
  maxBytes = 0,
): Promise<void> {
  // A write to a connection that has just closed; its "close" event follows.
  res.on("error", () => undefined);
  for await (const part of parts) {
    if (res.writableEnded) return;
    res.write(format(part));
    if (res.writableNeedDrain && res.writableLength > maxBytes && !res.destroyed) await drained(res);
    if (res.destroyed) return;
  }
  res.end();
}

/** Resolves when the client has read everything, or has gone. */
function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off("drain", done).off("close", done);
      resolve();
    };
    res.on("drain", done).on("close", done);
  });
}
