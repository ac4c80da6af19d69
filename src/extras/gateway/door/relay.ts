import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { messageOf } from "../../../errors.ts";
import type { HeaderField } from "../../../handler/result-headers.ts";
import { closeGently } from "../../../http/server/unread.ts";
import { answerFields, endToEnd, trailersOf } from "../headers.ts";
import type { Upstream } from "../upstream.ts";
import { hasBody, type ReadAhead } from "./relay-body.ts";
import { onHangUp, protocolsOf } from "./relay-request.ts";
import { tunnel } from "./relay-tunnel.ts";

/** A request whose turn has come, and how it is passed on. */
export interface Passage {
  /** Checked by `malformed`. */
  readonly request: IncomingMessage;
  /** Of an upgrade: made by `responseTo`. */
  readonly response: ServerResponse;
  /** Of the request; of an upgrade, of its connection. */
  readonly body: ReadAhead;
  /** Path and query for the API, byte for byte. */
  readonly path: string;
  /** Of the request to the API, in raw case and order, without those of one connection: see `requestFields`. */
  readonly headers: readonly HeaderField[];
  /** Added to the head of the answer, in place of those of the same names. */
  readonly own: readonly HeaderField[];
  /** Aborts the request to the API. */
  readonly signal: AbortSignal;
  /** Longest time to the head of the answer, ms. */
  readonly timeoutMs: number | null;
  /** Called with the status of the API's answer as soon as its head has come. */
  readonly answered?: (status: number) => void;
  /** The connection of a request that the server has handed over for an upgrade. */
  readonly upgrade?: Socket;
  /**
   * For an answer that has already begun (comments of an event stream), to which only the API's body is added: called with the API's head.
   * If it returns a promise, that is written instead of the body, and the answer ended; the callback then reads the body as it likes.
   */
  readonly begun?: (answer: IncomingMessage) => Promise<string> | undefined;
}

/** What became of a request. */
export type Relayed =
  /** The API's answer is complete. */
  | { readonly how: "whole"; readonly status: number }
  /** The caller has hung up; the request to the API is aborted. */
  | { readonly how: "left" }
  /** The signal has aborted it; an answer that had begun is cut. */
  | { readonly how: "aborted" }
  /** There was no connection to the API: nothing was carried, and the passage may be tried again. */
  | { readonly how: "refused"; readonly reason: string; readonly timedOut: boolean }
  /** There was no valid answer, but the request may have been carried out. */
  | { readonly how: "unanswered"; readonly reason: string; readonly timedOut: boolean }
  /** The answer broke off after its head; the caller's connection is reset, so that it is not taken for whole. */
  | { readonly how: "broke-off"; readonly status: number; readonly reason: string };

/**
 * Passes a request on to the API and its answer back, both as they come (RFC 9110 §7). Until the API has answered with a head, nothing
 * but its informational answers (1xx) is written to the caller. Never rejects; resolves as soon as the API's answer is complete, or it
 * is known why it will not be.
 */
export function relay(upstream: Upstream, passage: Passage): Promise<Relayed> {
  return new Promise((resolve) => new Exchange(upstream, passage, resolve).begin());
}

/** Methods whose requests may be sent twice (RFC 9110 §9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]);
/** Methods whose requests have no Content-Length if they have no body (RFC 9110 §8.6). */
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"]);
/** How long a connection to the API may take, ms: the system would try for two minutes. */
const CONNECT_MS = 10_000;
const SWITCHING_PROTOCOLS = 101;
const NO_CONTENT = 204;
/** Statuses of answers without a body (RFC 9112 §6.3). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([NO_CONTENT, 304]);
const DISPOSITION = "content-disposition";
const NOTHING = Buffer.alloc(0);

class Exchange {
  readonly #upstream: Upstream;
  readonly #passage: Passage;
  readonly #resolve: (how: Relayed) => void;
  readonly #hasBody: boolean;
  /** A repetition does no harm. */
  readonly #isRepeatable: boolean;
  #isRepeated = false;
  #sent: ClientRequest | undefined;
  #isConnected = false;
  /** How much had arrived on a reused connection before. */
  #readBefore = 0;
  #answer: IncomingMessage | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timedOut = false;
  #unlisten: () => void = () => undefined;
  #closeTunnel: (() => void) | undefined;
  #isEnded = false;

  constructor(upstream: Upstream, passage: Passage, resolve: (how: Relayed) => void) {
    this.#upstream = upstream;
    this.#passage = passage;
    this.#resolve = resolve;
    this.#hasBody = hasBody(passage.request);
    this.#isRepeatable = !this.#hasBody && IDEMPOTENT.has(passage.request.method ?? "") && !passage.upgrade;
  }

  begin(): void {
    const { request, response, signal, timeoutMs } = this.#passage;
    // What is written to a caller who has just gone is lost; that it has gone is heard elsewhere.
    response.on("error", ignore);
    this.#unlisten = onHangUp(request.socket, this.#onHangUp);
    signal.addEventListener("abort", this.#onAbort);
    if (signal.aborted) this.#onAbort();
    if (this.#isEnded) return;
    if (timeoutMs !== null) this.#timer = setTimeout(this.#onTimeout, timeoutMs);
    this.#send();
  }

  #send(): void {
    const { request, path, upgrade } = this.#passage;
    const connection = this.#isRepeated || upgrade ? "new" : this.#isRepeatable ? "any" : "recent";
    let sent: ClientRequest;
    try {
      sent = this.#upstream.begin({ method: request.method ?? "GET", path, headers: this.#headers(), connection });
    } catch (error) {
      this.#end({ how: "refused", reason: messageOf(error), timedOut: false });
      return;
    }
    this.#sent = sent;
    sent.on("socket", (socket) => {
      this.#readBefore = socket.bytesRead;
      if (sent.reusedSocket) return this.#connected();
      const late = () => this.#lost(sent, new Error(`no connection within ${CONNECT_MS / 1000} s`));
      const timer = setTimeout(late, CONNECT_MS);
      socket.once("close", () => clearTimeout(timer));
      socket.once(this.#upstream.connectEvent, () => {
        clearTimeout(timer);
        this.#connected();
      });
    });
    sent.on("information", (info) => this.#inform(info));
    sent.on("response", (answer) => this.#answered(answer));
    if (upgrade) sent.on("upgrade", (answer, socket, head) => this.#switched(answer, socket, head, upgrade));
    sent.on("error", (error) => this.#lost(sent, error));
    sent.on("close", () => this.#lost(sent));
  }

  /** Those of the passage, and those of this connection. */
  #headers(): string[] {
    const { request, headers, upgrade } = this.#passage;
    const { te, "transfer-encoding": coding, "content-length": length, expect, trailer } = request.headers;
    const fields = [...headers];
    const options: string[] = [];
    if (te !== undefined && /(?:^|,)\s*trailers\s*(?:,|;|$)/i.test(String(te))) {
      fields.push(["TE", "trailers"]);
      options.push("TE");
    }
    if (upgrade) {
      fields.push(["Upgrade", protocolsOf(request)]);
      options.push("Upgrade");
    }
    if (options.length > 0)
      fields.push(["Connection", [...options, ...(this.#isRepeated ? ["close"] : [])].join(", ")]);
    if (coding !== undefined) {
      if (trailer !== undefined) fields.push(["Trailer", trailer]);
      fields.push(["Transfer-Encoding", "chunked"]);
    } else if (length === undefined && !BODILESS.has(request.method ?? "")) {
      fields.push(["Content-Length", "0"]);
    }
    const isWritable = expect === undefined || this.#passesExpect(fields);
    return raw(isWritable ? fields : fields.filter(([name]) => name.toLowerCase() !== "expect"));
  }

  /** Node sends the head of a request with Expect in UTF-8; one with other characters goes without, and its caller may go on at once. */
  #passesExpect(fields: readonly HeaderField[]): boolean {
    const { request, response } = this.#passage;
    if (request.httpVersion === "1.0") return false;
    if (fields.every(([, value]) => isAscii(value))) return true;
    if (!response.headersSent) response.writeContinue();
    return false;
  }

  #connected(): void {
    this.#isConnected = true;
    const { body, request, upgrade } = this.#passage;
    const sent = this.#sent;
    if (this.#isEnded || !sent) return;
    if (!this.#hasBody || upgrade) {
      sent.end();
      return;
    }
    body.pipe(sent, () => {
      const trailers = trailersOf(request);
      if (trailers.length > 0) sent.addTrailers(trailers);
      sent.end();
    });
  }

  /** Passes on an informational answer; 100 only to a caller who waits for it. */
  #inform({
    statusCode,
    statusMessage,
    rawHeaders,
  }: {
    statusCode: number;
    statusMessage: string;
    rawHeaders: string[];
  }) {
    const { request, response } = this.#passage;
    if (this.#isEnded || response.headersSent || request.httpVersion === "1.0") return;
    if (statusCode === 100) {
      if (request.headers.expect !== undefined) response.writeContinue();
      return;
    }
    // There is no connection while the answer to an earlier request is being sent on it.
    const lines = linesOf(endToEnd(rawHeaders));
    response.socket?.write(`HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines}\r\n`, "latin1");
  }

  #answered(answer: IncomingMessage): void {
    if (this.#isEnded) return void answer.destroy();
    const flaw = flawOf(answer);
    if (flaw !== undefined) return this.#end({ how: "unanswered", reason: flaw, timedOut: false });
    this.#answer = answer;
    clearTimeout(this.#timer);
    const { response, begun, answered } = this.#passage;
    answered?.(answer.statusCode ?? 0);
    answer.on("error", ignore);
    if (!response.headersSent) {
      this.#writeHead(answer);
    } else {
      const instead = begun?.(answer);
      if (instead !== undefined) {
        instead.then(
          (text) => this.#whole(text),
          (error: unknown) => this.#broke(messageOf(error)),
        );
        return;
      }
    }
    this.#pass(answer);
  }

  /** Writes the head of an answer to the caller. */
  #writeHead(answer: IncomingMessage): void {
    const { request, response, upgrade } = this.#passage;
    const { statusCode = 0, statusMessage = "" } = answer;
    const fields = this.#fields(answer);
    const { trailer, "transfer-encoding": coding } = answer.headers;
    const hasChunks = coding !== undefined && request.httpVersion === "1.1" && request.method !== "HEAD";
    if (trailer !== undefined && hasChunks && !WITHOUT_BODY.has(statusCode)) fields.push(["Trailer", trailer]);
    // The rest of a request that has not arrived by now may never be read.
    if (!request.complete && !upgrade) fields.push(["Connection", "close"]);
    response.sendDate = false;
    response.writeHead(statusCode, statusMessage, raw(fields));
  }

  /** Those of an answer, and our own. */
  #fields(answer: IncomingMessage): HeaderField[] {
    const { own } = this.#passage;
    const replaced = new Set(own.map(([name]) => name.toLowerCase()));
    // RFC 9110 §8.6.
    if (answer.statusCode === NO_CONTENT) replaced.add("content-length");
    return [...answerFields(answer).filter(([name]) => !replaced.has(name.toLowerCase())), ...own];
  }

  /** Passes on the body of an answer. */
  #pass(answer: IncomingMessage): void {
    const { response } = this.#passage;
    let isBegun = false;
    answer.on("data", (chunk: Buffer) => {
      isBegun = true;
      if (!response.write(chunk)) answer.pause();
    });
    response.on("drain", () => answer.resume());
    answer.on("end", () => {
      const trailers = trailersOf(answer);
      if (trailers.length > 0 && response.chunkedEncoding) response.addTrailers(trailers);
      this.#whole();
    });
    answer.on("close", () => this.#broke());
    // Sends the head now, unless the body has arrived with it, which spares a packet; not by `flushHeaders`, which writes it in UTF-8.
    setImmediate(() => {
      if (!isBegun && !this.#isEnded) response.write(NOTHING);
    });
  }

  /** The API has switched protocols: from now on, the two connections are one. */
  #switched(answer: IncomingMessage, api: Socket, first: Buffer, caller: Socket): void {
    if (this.#isEnded) return void api.destroy();
    clearTimeout(this.#timer);
    this.#unlisten();
    const { response, body, answered } = this.#passage;
    this.#answer = answer;
    answered?.(SWITCHING_PROTOCOLS);
    response.detachSocket(caller);
    const { statusMessage, headers } = answer;
    const fields = [...this.#fields(answer), ["Upgrade", headers.upgrade ?? ""], ["Connection", "Upgrade"]];
    caller.write(`HTTP/1.1 101 ${statusMessage}\r\n${linesOf(fields)}\r\n`, "latin1");
    if (first.length > 0) api.unshift(first);
    this.#closeTunnel = tunnel(caller, body, api, () => this.#end({ how: "whole", status: SWITCHING_PROTOCOLS }));
  }

  /** The API's answer is complete. */
  #whole(last?: string): void {
    if (this.#isEnded) return;
    const { response } = this.#passage;
    if (last === undefined) response.end();
    else response.end(last);
    this.#end({ how: "whole", status: this.#answer?.statusCode ?? 0 });
  }

  #broke(reason = "the answer broke off"): void {
    this.#end({ how: "broke-off", status: this.#answer?.statusCode ?? 0, reason });
  }

  /** There will be no answer. */
  #lost(sent: ClientRequest, error?: NodeJS.ErrnoException): void {
    // Once there is an answer, its own end counts.
    if (this.#isEnded || this.#answer || sent !== this.#sent) return;
    const isUntouched = sent.reusedSocket && sent.socket?.bytesRead === this.#readBefore;
    if (isUntouched && this.#isRepeatable && !this.#isRepeated && !this.#timedOut) {
      // The API has closed the connection while it was idle.
      this.#isRepeated = true;
      this.#isConnected = false;
      this.#send();
      return;
    }
    const reason = this.#timedOut ? "timeout" : (error?.code ?? error?.message ?? "the connection was closed");
    this.#end({ how: this.#isConnected ? "unanswered" : "refused", reason, timedOut: this.#timedOut });
  }

  readonly #onHangUp = (): void => this.#end({ how: "left" });

  readonly #onAbort = (): void => this.#end({ how: "aborted" });

  readonly #onTimeout = (): void => {
    this.#timedOut = true;
    if (this.#sent) this.#lost(this.#sent);
  };

  #end(how: Relayed): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#unlisten();
    const { request, response, body, signal, upgrade } = this.#passage;
    signal.removeEventListener("abort", this.#onAbort);
    const isWhole = how.how === "whole";
    // A passage that was refused may be tried again.
    if (how.how !== "refused") body.stop();
    if (!request.complete && !upgrade) closeGently(request);
    // Also one whose answer is complete, if the API has not taken the whole request.
    if (!isWhole || !this.#sent?.writableFinished) this.#sent?.destroy();
    if (!isWhole) this.#closeTunnel?.();
    if (how.how === "left") request.socket.destroy();
    else if (!isWhole && this.#answer && !response.writableEnded) request.socket.resetAndDestroy();
    this.#resolve(how);
  }
}

/** Why an answer is not valid, although Node's parser has let it through; undefined if it is (RFC 9112 §6.1, §11.1). */
function flawOf({ statusCode = 0, statusMessage = "", httpVersion, headers }: IncomingMessage): string | undefined {
  const coding = headers["transfer-encoding"];
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "it answered in an unknown version of HTTP";
  if (statusCode < 200) return `it answered with the status ${statusCode}`;
  if (/[^\t\x20-\x7e\x80-\xff]/.test(statusMessage)) return "its status line has control characters";
  if (coding !== undefined && (httpVersion === "1.0" || coding.toLowerCase() !== "chunked")) {
    return "its Transfer-Encoding is not chunked";
  }
  return undefined;
}

function ignore(): void {}

function linesOf(fields: readonly (readonly string[])[]): string {
  return fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
}

/**
 * Fields as Node takes them. It would change the bytes of a Content-Disposition that is not ASCII and follows Content-Length, so that
 * Content-Length then goes to the end.
 */
function raw(fields: readonly HeaderField[]): string[] {
  if (!fields.some(isFileName)) return fields.flat();
  const isLength = ([name]: HeaderField) => name.toLowerCase() === "content-length";
  return [...fields.filter((field) => !isLength(field)), ...fields.filter(isLength)].flat();
}

function isFileName([name, value]: HeaderField): boolean {
  return name.length === DISPOSITION.length && name.toLowerCase() === DISPOSITION && !isAscii(value);
}

function isAscii(value: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: whatever is not ASCII is looked for
  return !/[^\x00-\x7f]/.test(value);
}
