/** What clients of OpenAI's API expect, which Ollama, vLLM and others speak, too. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "koa";
import type { Inspection } from "../../../engine/watch/inspect.ts";
import type { ReplyProblem } from "../../../http/route.ts";
import { placeWords } from "../../../words/place.ts";

/** From when on a stream that waits is told its place, how often at most, and how often at least, ms. */
export const AHEAD = { afterMs: 2000, atMostMs: 1000, atLeastMs: 10_000 } as const;

/** Longest error of the API that is passed on in an event, and longest answer that is no event stream, bytes. */
const ERROR_BYTES = 65_536;
const WHOLE_BYTES = 1024 ** 2;
const RATE_LIMITED = 429;

/** A problem in the form of OpenAI's errors. */
function errorOf({ status, document }: ReplyProblem): { readonly error: Readonly<Record<string, unknown>> } {
  const { type, title, detail, code = String(type).split("/").at(-1), ...rest } = document;
  const message = [title, detail].filter((text) => text !== undefined).join(": ");
  const kind = status === RATE_LIMITED ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "server_error";
  const { status: _, ...more } = rest;
  return { error: { message, type: kind, code, param: null, ...more } };
}

/** Whether a path is of Ollama's own API, which has lines of JSON as its streams, and errors that are texts. */
const isOllama = (path: string): boolean => path.startsWith("/api/");

/** Answers with a problem in this form. */
export function writeError(ctx: Context, problem: ReplyProblem): void {
  const { error } = errorOf(problem);
  ctx.status = problem.status;
  ctx.type = "application/json";
  ctx.body = JSON.stringify({ error: isOllama(ctx.req.url ?? "") ? error.message : error });
}

/** The members of a body that say how it is to be answered. */
interface Asked {
  readonly stream?: unknown;
}

/** Whether the answer to a request will be an event stream. */
export function isStreamed(path: string, accept: string, body: unknown): boolean {
  if (isOllama(path)) return false;
  const asked = typeof body === "object" && body !== null ? (body as Asked).stream === true : false;
  return asked || /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(accept);
}

/** An event stream that begins before its turn: it tells the place in line in comments, which clients skip. */
export class Ahead {
  readonly #response: ServerResponse;
  #words = "waiting";
  #told = "";
  #toldAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /** @param fields of the head, names and values in turn */
  constructor(response: ServerResponse, fields: readonly string[]) {
    this.#response = response;
    response.writeHead(200, [
      ...["Content-Type", "text/event-stream", "Cache-Control", "no-cache, no-transform", "X-Accel-Buffering", "no"],
      ...fields,
    ]);
  }

  /** Tells the place, now and again until `rest`. @param seen absent: it is not known at the moment */
  tell(seen?: Pick<Inspection, "ahead" | "eta">): void {
    if (seen) this.#words = placeWords(seen.ahead ?? 0, seen.eta);
    clearTimeout(this.#timer);
    const pauseMs = this.#words === this.#told ? AHEAD.atLeastMs : AHEAD.atMostMs;
    const leftMs = this.#toldAt + pauseMs - performance.now();
    if (leftMs <= 0) this.#write();
    else this.#timer = setTimeout(() => this.#write(), leftMs);
  }

  #write(): void {
    this.#told = this.#words;
    this.#toldAt = performance.now();
    this.#response.write(`: ${this.#words}\n\n`);
    this.#timer = setTimeout(() => this.#write(), AHEAD.atLeastMs);
  }

  /** Tells nothing until `tell` is called again. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the stream with a problem. */
  fail(problem: ReplyProblem): void {
    this.#response.end(eventOf(JSON.stringify(errorOf(problem))));
  }

  /**
   * What is written in place of an answer that is no event stream: its error, as an event; undefined for one that is, whose bytes follow.
   */
  static instead(answer: IncomingMessage): Promise<string> | undefined {
    const { statusCode = 0, headers } = answer;
    const isOk = statusCode >= 200 && statusCode < 300;
    if (isOk && /^text\/event-stream\b/i.test(headers["content-type"] ?? "")) return undefined;
    return readText(answer, isOk).then((text) => eventOf(isOk ? text : apiError(statusCode, text)));
  }
}

/** An error of the API as it came, if it is JSON; otherwise one that has it as its message. */
function apiError(status: number, text: string): string {
  try {
    const given: unknown = JSON.parse(text);
    if (typeof given === "object" && given !== null && "error" in given) return text;
  } catch {
    // It is no JSON.
  }
  const message = text.trim() || `The API answered with the status ${status}.`;
  return JSON.stringify(errorOf({ status, document: { title: message, code: `status-${status}` } }));
}

/** @throws Error for one that is too long, if it must be whole: cut, it would look complete */
async function readText(answer: IncomingMessage, isWhole: boolean): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= (isWhole ? WHOLE_BYTES : ERROR_BYTES)) chunks.push(chunk);
    else if (isWhole) throw new Error("the answer is too long for an event");
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** An event with a text, which may have line breaks. */
function eventOf(text: string): string {
  return `${text
    .trim()
    .split(/\r\n|\n|\r/)
    .map((line) => `data: ${line}`)
    .join("\n")}\n\n`;
}
