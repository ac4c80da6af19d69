import type { IncomingMessage } from "node:http";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ProblemError } from "../../errors.ts";
import { consumesType, type Handler } from "../../handler/define.ts";
import { GrowingBuffer } from "../../net/read-limited.ts";
import { nameValue, splitField, trimField } from "../../wire/request.ts";
import { invalidInput, pointerOf } from "./field-errors.ts";

const JSON_TYPE = "application/json";

/** The maximum depth of nesting: deeper JSON has no use, and is expensive to walk. */
const JSON_DEPTH = 64;

/** A number with fewer digits and no exponent is finite. */
const DIGITS_OF_LARGEST = 308;

const [QUOTE, BACKSLASH, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];
const [ZERO, NINE, SMALL_E, CAPITAL_E] = [0x30, 0x39, 0x65, 0x45];

/** A valid input to be stored: JSON as text, anything else as bytes. */
export interface CheckedInput {
  readonly input: string | Buffer;
  readonly mediaType: string;
  /** What the handler receives: the output of its schema, the JSON value, or the bytes. */
  readonly value: unknown;
}

/**
 * Reads the body of a submission and checks it against the media types and schema of the handler.
 * @throws ProblemError unsupported-media-type, before anything is read; and payload-too-large, malformed-json, invalid-input
 */
export async function readInput(req: IncomingMessage, handler: Handler, maxBytes: number): Promise<CheckedInput> {
  const mediaType = acceptedType(req, handler);
  return checkInput(await readBytes(req, maxBytes), mediaType, handler);
}

/** Checks an input of a media type that the handler takes. @throws ProblemError malformed-json, invalid-input */
export function checkInput(bytes: Buffer, mediaType: string, handler: Handler): CheckedInput | Promise<CheckedInput> {
  if (mediaType !== JSON_TYPE) return { input: bytes, mediaType, value: bytes };
  // A turn needs no input.
  const input = handler.turns?.all && bytes.length === 0 ? "null" : jsonText(bytes);
  return checkJson(input, parseJson(input), handler);
}

/**
 * Checks an input that was parsed from JSON with the handler's schema, if it has one. Returns a promise only if the schema is async.
 * @param input its text
 * @throws ProblemError invalid-input
 */
export function checkJson(input: string, value: unknown, handler: Handler): CheckedInput | Promise<CheckedInput> {
  const output = handler.schema ? checked(handler.schema, value) : value;
  const made = (value: unknown): CheckedInput => ({ input, mediaType: JSON_TYPE, value });
  return output instanceof Promise ? output.then(made) : made(output);
}

/** Whether a request has no body. */
export function isEmpty({ headers }: IncomingMessage): boolean {
  return Number(headers["content-length"] ?? 0) === 0 && headers["transfer-encoding"] === undefined;
}

/**
 * Reads a JSON body of one of the server's own resources; an empty one stands for `{}`.
 * @throws ProblemError unsupported-media-type, at once; and payload-too-large, malformed-json, invalid-input
 */
export async function readJson<T>(
  req: IncomingMessage,
  schema: StandardSchemaV1<unknown, T>,
  maxBytes: number,
): Promise<T> {
  refuseCoding(req);
  const bytes = await readBytes(req, maxBytes);
  return await checked(schema, bytes.length === 0 ? {} : parseJson(jsonText(bytes)));
}

/**
 * Reads a body that is any JSON, as text; undefined for an empty one.
 * @throws ProblemError like {@link readJson}, but for invalid-input
 */
export async function readJsonText(req: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  refuseCoding(req);
  const bytes = await readBytes(req, maxBytes);
  if (bytes.length === 0) return undefined;
  const text = jsonText(bytes);
  parseJson(text);
  return text;
}

/**
 * Validates a value and returns the output of the schema; a promise only if the schema is async.
 * @throws ProblemError invalid-input with pointers to the errors
 */
function checked<T>(schema: StandardSchemaV1<unknown, T>, value: unknown): T | Promise<T> {
  const verdict = schema["~standard"].validate(value);
  return "then" in verdict ? verdict.then(outputOf) : outputOf(verdict);
}

function outputOf<T>(verdict: StandardSchemaV1.Result<T>): T {
  if (!verdict.issues) return verdict.value;
  throw invalidInput(verdict.issues);
}

/** The whole body. @throws ProblemError payload-too-large, or invalid-parameter if it did not arrive completely */
export async function readBytes(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const length = Number(req.headers["content-length"]);
  if (length > maxBytes) throw tooLarge(maxBytes);
  // Node parses what has come with the head before promises go on. Nearly every body is there then; as a stream, it would cost an accept 6 %
  // of its CPU (`npm run bench -- accept`).
  await undefined;
  if (length > 0 && req.readableLength === length) return req.read() as Buffer;
  return await readStream(req, maxBytes);
}

function readStream(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body: GrowingBuffer | undefined = new GrowingBuffer();
    req.on("data", (chunk: Buffer) => {
      // The rest is read and discarded: closing a connection with unread bytes resets it, and the response would be lost.
      if (!body) return;
      if (body.length + chunk.length <= maxBytes) return body.append(chunk);
      body = undefined;
      reject(tooLarge(maxBytes));
    });
    // What comes after the first of these events changes nothing.
    const end = (cause?: unknown) => {
      if (body && req.readableEnded) resolve(body.take());
      else reject(new ProblemError("invalid-parameter", "The body did not arrive completely.", { cause }));
    };
    for (const event of ["end", "error", "close"]) req.on(event, end);
    // It may have broken off before it was read.
    if (req.destroyed) end();
  });
}

function tooLarge(maxBytes: number): ProblemError {
  return new ProblemError("payload-too-large", `The body is larger than ${maxBytes} bytes.`);
}

/**
 * Refuses a body with a content coding, and reports in Accept-Encoding that none is accepted (RFC 9110 §12.5.3, §15.5.16).
 * @throws ProblemError unsupported-media-type
 */
export function refuseCoding({ headers }: Pick<IncomingMessage, "headers">): void {
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (coding === "" || coding === "identity") return;
  throw new ProblemError("unsupported-media-type", "The Content-Encoding is not accepted: send the body as it is.", {
    headers: { "Accept-Encoding": "identity" },
    extensions: { acceptsEncodings: ["identity"] },
  });
}

/** Media type of the request, without parameters, in lower case; a body without one counts as JSON. */
function acceptedType(req: IncomingMessage, handler: Handler): string {
  const refuse = (detail: string) =>
    new ProblemError("unsupported-media-type", detail, {
      headers: { Accept: handler.consumes.join(", ") },
      extensions: { accepts: handler.consumes },
    });
  refuseCoding(req);
  const header = req.headers["content-type"] ?? JSON_TYPE;
  if (header === JSON_TYPE && handler.consumes.includes(JSON_TYPE)) return header;
  const { type: mediaType, charset } = readMediaType(header);
  if (!consumesType(handler, mediaType)) {
    throw refuse(`The queue ${handler.queue} accepts ${handler.consumes.join(", ")}, not ${shown(mediaType)}.`);
  }
  if (mediaType === "application/json" && charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) {
    throw refuse(`JSON is UTF-8 (RFC 8259 §8.1), not ${shown(charset)}.`);
  }
  return mediaType;
}

/** A value from the caller, shortened for an error message. */
function shown(value: string): string {
  return value === "" ? "an empty one" : value.slice(0, 100);
}

/** A decoder that skips a byte-order mark, as a reader of JSON may (RFC 8259 §8.1). */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

function jsonText(body: Buffer): string {
  let text: string;
  try {
    text = UTF8.decode(body);
  } catch {
    throw new ProblemError("malformed-json", "The body is not UTF-8.");
  }
  if (text === "") throw new ProblemError("malformed-json", "The body is empty.");
  return text;
}

/** A media type in lower case, without its parameters, and its charset. */
interface MediaType {
  readonly type: string;
  readonly charset: string | undefined;
}

/** Reads a Content-Type (RFC 9110 §8.3.1); malformed parameters are ignored. */
export function readMediaType(header: string): MediaType {
  const [type = "", ...parameters] = splitField(header, ";");
  const charset = parameters.map(nameValue).find((parameter) => parameter?.name === "charset")?.value;
  return { type: trimField(type).toLowerCase(), charset };
}

/**
 * Parses JSON from a caller. Numbers too large for a double (`1e400`) are refused: they would become Infinity, which JSON
 * cannot represent. Integers above 2^53, `-0` and escaped lone surrogates are valid JSON, and left to the handler.
 * @throws ProblemError malformed-json; invalid-input of a number too large
 */
export function parseJson(text: string): unknown {
  const { tooDeep, mayOverflow } = scan(text);
  if (tooDeep) throw new ProblemError("malformed-json", `The body is nested deeper than ${JSON_DEPTH} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ProblemError(
      "malformed-json",
      error instanceof SyntaxError ? error.message : "The body cannot be parsed.",
    );
  }
  const path = mayOverflow ? pathOfInfinity(value) : undefined;
  if (path) {
    const pointer = pointerOf(path);
    const detail = "the number is too large, expected one that fits a double";
    throw new ProblemError("invalid-input", `${pointer}: ${detail}`, { extensions: { errors: [{ pointer, detail }] } });
  }
  return value;
}

/**
 * One pass over the text before it is parsed: a megabyte of `[` takes the parser a second, and this scan a millisecond. Syntax
 * errors are left to the parser.
 */
function scan(text: string): { tooDeep: boolean; mayOverflow: boolean } {
  let depth = 0;
  let digits = 0;
  let mayOverflow = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      digits += 1;
      if (digits > DIGITS_OF_LARGEST) mayOverflow = true;
      continue;
    }
    // The e of true and false does not follow a digit.
    if (digits > 0 && (code === SMALL_E || code === CAPITAL_E)) mayOverflow = true;
    digits = 0;
    if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      depth += 1;
      if (depth > JSON_DEPTH) return { tooDeep: true, mayOverflow };
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      depth -= 1;
    } else if (code === QUOTE) {
      at = endOfString(text, at + 1);
    }
  }
  return { tooDeep: false, mayOverflow };
}

/** The end of the current string: its closing quotation mark, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    // An odd number of them escapes it. The opening quotation mark ends the count.
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

/** The path of a number that was parsed as Infinity; undefined if there is none. */
function pathOfInfinity(value: unknown): string[] | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : [];
  if (typeof value !== "object" || value === null) return undefined;
  // No list of the entries of an array is made: it would be several times as large.
  const names = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const name of names) {
    const path = pathOfInfinity((value as Record<PropertyKey, unknown>)[name]);
    if (path) return [String(name), ...path];
  }
  return undefined;
}
