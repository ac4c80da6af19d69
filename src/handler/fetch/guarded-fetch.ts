import type { IncomingMessage } from "node:http";
import { pipeline, type Transform } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import { messageOf } from "../../errors.ts";
import { withDeadline } from "../../net/deadline.ts";
import { sendGuarded } from "../../net/guarded-request.ts";
import { BodyTooLong, readLimited } from "../../net/read-limited.ts";
import { type AddressGuard, TargetRefused } from "../../net/ssrf-guard.ts";
import { decodeHtml } from "./decode-html.ts";

/** Limits of one fetch, including its redirects. */
const FETCH_DEFAULTS = { timeoutMs: 20_000, maxBytes: 5 * 1024 * 1024, maxRedirects: 5 } as const;

/**
 * Why a page could not be fetched: `refused` the guard does not allow the address · `status` the status was not 2xx ·
 * `redirects` too many, or an invalid one · `not-html` · `too-large` · `unreadable` its compression is unknown or broken ·
 * `unreachable` no connection, no such name, or the connection broke · `timed-out`.
 */
export type FetchFailure =
  | "refused"
  | "status"
  | "redirects"
  | "not-html"
  | "too-large"
  | "unreadable"
  | "unreachable"
  | "timed-out";

/** A page could not be fetched; the message may be shown to the caller. */
export class FetchError extends Error {
  override readonly name = "FetchError";
  readonly failure: FetchFailure;
  /** The status of the response, if that is the failure. */
  readonly status: number | undefined;
  constructor(failure: FetchFailure, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.failure = failure;
    this.status = options.status;
  }
}

export interface FetchOptions {
  /** Which addresses are allowed; checked again for every redirect. */
  guard: AddressGuard;
  signal: AbortSignal;
  /** Longest time from the first connection to the last byte; default 20 s. */
  timeoutMs?: number;
  /** Largest body, before and after decompression; default 5 MiB. */
  maxBytes?: number;
}

/** A fetched page. */
export interface Page {
  /** Its URL after redirects. */
  readonly url: string;
  readonly html: string;
  /** The Content-Language header. */
  readonly language: string | undefined;
}

/**
 * Gets an HTML page: follows up to 5 redirects, decompresses and decodes it.
 * @throws FetchError that says why it failed
 * @throws the signal's reason when it fires
 */
export async function fetchPage(address: string, options: FetchOptions): Promise<Page> {
  const { guard, signal, timeoutMs = FETCH_DEFAULTS.timeoutMs, maxBytes = FETCH_DEFAULTS.maxBytes } = options;
  const late = () => new FetchError("timed-out", `the page took longer than ${timeoutMs} ms`);
  return await withDeadline({ signal, ms: timeoutMs, late }, (stop) => follow(address, guard, maxBytes, stop));
}

async function follow(address: string, guard: AddressGuard, maxBytes: number, signal: AbortSignal): Promise<Page> {
  let next: string | URL = address;
  for (let redirects = 0; redirects <= FETCH_DEFAULTS.maxRedirects; redirects++) {
    const response = await get(next, guard, signal);
    const url = new URL(next);
    try {
      const location = redirection(response);
      if (location === undefined) return await readPage(url, response, maxBytes);
      if (!URL.canParse(location, url.href)) {
        throw new FetchError("redirects", "the page redirects to something that is not a URL");
      }
      next = new URL(location, url);
    } finally {
      response.destroy();
    }
  }
  throw new FetchError("redirects", `the page redirects more than ${FETCH_DEFAULTS.maxRedirects} times`);
}

async function get(target: string | URL, guard: AddressGuard, signal: AbortSignal): Promise<IncomingMessage> {
  const headers = {
    accept: "text/html, application/xhtml+xml",
    "accept-encoding": "gzip, br",
    "user-agent": "Mozilla/5.0 (compatible; Paihao)",
  };
  try {
    return await sendGuarded(target, guard, { headers, signal });
  } catch (error) {
    if (error instanceof TargetRefused) throw new FetchError("refused", error.message, { cause: error });
    throw unreachable(error);
  }
}

function redirection({ statusCode, headers }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode ?? 0) ? headers.location : undefined;
}

async function readPage(url: URL, response: IncomingMessage, maxBytes: number): Promise<Page> {
  const status = response.statusCode ?? 0;
  if (status < 200 || status > 299) throw new FetchError("status", `the page answered ${status}`, { status });
  const contentType = response.headers["content-type"] ?? "text/html";
  const mediaType = (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (mediaType !== "text/html" && mediaType !== "application/xhtml+xml") {
    throw new FetchError("not-html", `the page is ${JSON.stringify(mediaType)}, expected text/html`);
  }
  const bytes = await readBody(response, maxBytes);
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
  return { url: url.href, html: decodeHtml(bytes, charset), language: response.headers["content-language"] };
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = new FetchError("too-large", `the page is larger than ${maxBytes} bytes`);
  if (Number(response.headers["content-length"]) > maxBytes) throw tooLarge;
  const decompress = decompressor(response.headers["content-encoding"]);
  // An error of the response is passed on to the decompressed stream, where it is handled.
  const body = decompress ? pipeline(response, decompress, () => undefined) : response;
  try {
    return await readLimited(body, { maxBytes });
  } catch (error) {
    if (error instanceof BodyTooLong) throw tooLarge;
    if (decompress && isZlibError(error)) {
      throw new FetchError("unreadable", "the page is not compressed as it says", { cause: error });
    }
    throw unreachable(error);
  }
}

function decompressor(encoding = "identity"): Transform | undefined {
  switch (encoding.trim().toLowerCase()) {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
    case "deflate":
      return createUnzip(); // recognises both by their first byte
    case "br":
      return createBrotliDecompress();
    default:
      throw new FetchError("unreadable", `the page is compressed with ${JSON.stringify(encoding)}`);
  }
}

/** zlib's codes are Z_…, brotli's ERR__ERROR_… or ERR_BROTLI_…; a cut connection has neither. */
function isZlibError(error: unknown): boolean {
  return /^(?:Z_|ERR__|ERR_BROTLI)/.test((error as NodeJS.ErrnoException).code ?? "");
}

function unreachable(error: unknown): FetchError {
  const reason = (error as NodeJS.ErrnoException).code ?? messageOf(error);
  return new FetchError("unreachable", `the page cannot be reached (${reason})`, { cause: error });
}
