import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ProblemError } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import { consumesType } from "../../handler/input.ts";
import { GrowingBuffer } from "../../net/growing-buffer.ts";
import { nameValue, splitField, trimField } from "../../wire/header-fields.ts";
import { invalidInput } from "./field-errors.ts";
import { parseJson } from "./json.ts";

const JSON_TYPE = "application/json";

/** A valid input to be stored: JSON as text, anything else as bytes. */
export interface CheckedInput {
  readonly input: string | Buffer;
  readonly mediaType: string;
  /** What the handler receives: the output of its schema, the JSON value, or the bytes. */
  readonly value: unknown;
}

/**
 * Reads the body of a submission and checks it against the media types and schema of the handler.
 * @throws ProblemError unsupported-media-type, at once; and payload-too-large, malformed-json, invalid-input
 */
export function readInput(req: IncomingMessage, handler: Handler, maxBytes: number): Promise<CheckedInput> {
  const mediaType = acceptedType(req, handler);
  return readBytes(req, maxBytes).then((bytes) => checkInput(bytes, mediaType, handler));
}

/** Checks an input of a media type that the handler takes. @throws ProblemError malformed-json, invalid-input */
export function checkInput(bytes: Buffer, mediaType: string, handler: Handler): CheckedInput | Promise<CheckedInput> {
  if (mediaType !== JSON_TYPE) return { input: bytes, mediaType, value: bytes };
  const input = jsonText(bytes);
  const checked = checkJson(input, handler);
  return checked instanceof Promise
    ? checked.then((value) => ({ input, mediaType, value }))
    : { input, mediaType, value: checked };
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
 * Parses JSON text and checks it with the handler's schema, if it has one. Returns a promise only if the schema is async.
 * @throws ProblemError malformed-json, invalid-input
 */
export function checkJson(text: string, handler: Handler): unknown {
  const value = parseJson(text);
  return handler.schema ? checked(handler.schema, value) : value;
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
export function readBytes(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers["content-length"]) > maxBytes) throw tooLarge(maxBytes);
    const body = new GrowingBuffer();
    let fits = true;
    let ended = false;
    req.on("data", (chunk: Buffer) => {
      // The rest is read and discarded: closing a connection with unread bytes resets it, and the response would be lost.
      if (!fits) return;
      fits = body.length + chunk.length <= maxBytes;
      if (fits) return body.append(chunk);
      body.clear();
      reject(tooLarge(maxBytes));
    });
    req.on("end", () => {
      ended = true;
      // Else the promise has already been rejected.
      if (fits) resolve(body.take());
    });
    const broken = (cause?: unknown) => {
      if (!ended) reject(new ProblemError("invalid-parameter", "The body did not arrive completely.", { cause }));
    };
    req.on("error", broken);
    req.on("close", broken);
    // It may have broken off before it was read.
    if (req.destroyed) broken();
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

function jsonText(body: Buffer): string {
  const bytes = withoutMark(body);
  if (bytes.length === 0) throw new ProblemError("malformed-json", "The body is empty.");
  if (!isUtf8(bytes)) throw new ProblemError("malformed-json", "The body is not UTF-8.");
  return bytes.toString("utf8");
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

const [FIRST, SECOND, THIRD] = [0xef, 0xbb, 0xbf];

/** UTF-8 without the byte-order mark that some programs put before it: a reader of JSON may skip it (RFC 8259 §8.1). */
export function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === FIRST && bytes[1] === SECOND && bytes[2] === THIRD ? bytes.subarray(3) : bytes;
}
