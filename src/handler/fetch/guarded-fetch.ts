import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import { messageOf } from "../../errors.ts";
import { GrowingBuffer } from "../../net/growing-buffer.ts";
import { type AddressGuard, TargetRefused } from "../../net/ssrf-guard.ts";
import { decodeHtml } from "./decode-html.ts";

/** Limits of one fetch, redirects and all. */
const FETCH_DEFAULTS = { timeoutMs: 20_000, maxBytes: 5 * 1024 * 1024, maxRedirects: 5 } as const;

/**
 * Why a page could not be had:
 * `refused` the guard does not let us contact it · `status` it answered another status than 2xx · `redirects` too many, or one
 * that leads nowhere · `not-html` · `too-large` · `unreadable` its compression is unknown or broken · `unreachable` no connection,
 * no such name, or cut off · `timed-out`.
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

/** A page that could not be had; the message may be shown to whoever asked for it. */
export class FetchError extends Error {
  override readonly name = "FetchError";
  readonly failure: FetchFailure;
  /** The status that the page answered, where that is the failure. */
  readonly status: number | undefined;
  constructor(failure: FetchFailure, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.failure = failure;
    this.status = options.status;
  }
}

export interface FetchOptions {
  /** Who may be contacted; asked anew for every redirect. */
  guard: AddressGuard;
  signal: AbortSignal;
  /** Longest time from the first connection to the last byte; default 20 s. */
  timeoutMs?: number;
  /** Largest body, before and after decompression; default 5 MiB. */
  maxBytes?: number;
}

/** A page as it was answered. */
export interface Page {
  /** Where it was found in the end. */
  readonly url: string;
  readonly html: string;
  /** The Content-Language header. */
  readonly language: string | undefined;
}

/**
 * Gets an HTML page: follows up to 5 redirects, decompresses and decodes it.
 * @throws FetchError that says why not
 * @throws the signal's reason when it fires
 */
export async function fetchPage(address: string, options: FetchOptions): Promise<Page> {
  const { guard, signal, timeoutMs = FETCH_DEFAULTS.timeoutMs, maxBytes = FETCH_DEFAULTS.maxBytes } = options;
  signal.throwIfAborted();
  // AbortSignal.any with AbortSignal.timeout would be shorter; in Node 20 such a signal can be collected before it fires.
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal.reason);
  const onTime = () => stop.abort(new FetchError("timed-out", `the page took longer than ${timeoutMs} ms`));
  const timer = setTimeout(onTime, timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await follow(address, guard, maxBytes, stop.signal);
  } catch (error) {
    // Whatever broke when the signal fired is only its consequence.
    if (stop.signal.aborted) throw stop.signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

async function follow(address: string, guard: AddressGuard, maxBytes: number, signal: AbortSignal): Promise<Page> {
  let next: string | URL = address;
  for (let redirects = 0; redirects <= FETCH_DEFAULTS.maxRedirects; redirects++) {
    const url = admit(guard, next);
    const response = await get(url, guard, signal);
    try {
      const location = redirection(response);
      if (location === undefined) return await readPage(url, response, maxBytes);
      if (!URL.canParse(location, url.href)) {
        throw new FetchError("redirects", "the page redirects to something that is no URL");
      }
      next = new URL(location, url);
    } finally {
      response.destroy();
    }
  }
  throw new FetchError("redirects", `the page redirects more than ${FETCH_DEFAULTS.maxRedirects} times`);
}

function admit(guard: AddressGuard, target: string | URL): URL {
  try {
    return guard.admit(target);
  } catch (error) {
    if (error instanceof TargetRefused) throw new FetchError("refused", error.message, { cause: error });
    throw error;
  }
}

function get(url: URL, guard: AddressGuard, signal: AbortSignal): Promise<IncomingMessage> {
  const { request } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    request(url, {
      // No agent: a connection that another request left open was checked for that request, not for this one.
      agent: false,
      lookup: guard.lookup(url),
      signal,
      headers: {
        accept: "text/html, application/xhtml+xml",
        "accept-encoding": "gzip, br",
        "user-agent": "Mozilla/5.0 (compatible; Paihao)",
      },
    })
      .on("response", resolve)
      .on("error", (error) => {
        if (error instanceof TargetRefused) reject(new FetchError("refused", error.message, { cause: error }));
        else reject(unreachable(error));
      })
      .end();
  });
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
  const page = new GrowingBuffer();
  let size = 0;
  const collect = async (body: AsyncIterable<Buffer>) => {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge;
      page.append(chunk);
    }
  };
  const decompress = decompressor(response.headers["content-encoding"]);
  try {
    if (decompress) await pipeline(response, decompress, collect);
    else await pipeline(response, collect);
  } catch (error) {
    // Leaving the loop above closes the streams, and pipeline may tell of that instead.
    if (size > maxBytes) throw tooLarge;
    if (decompress && isZlibError(error)) {
      throw new FetchError("unreadable", "the page is not compressed as it says", { cause: error });
    }
    throw unreachable(error);
  }
  return page.take();
}

function decompressor(encoding = "identity"): Transform | undefined {
  switch (encoding.trim().toLowerCase()) {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
    case "deflate":
      return createUnzip(); // tells the two apart by their first byte
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
