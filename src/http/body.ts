import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import getRawBody from "raw-body";
import { type FieldError, PaihaoError } from "../errors.ts";
import { consumesType, type Handler } from "../handler.ts";

/** JSON deeper than this is refused: it serves no one, and costs whoever walks it. */
export const JSON_DEPTH = 64;

/** A submitted input that may be stored: JSON as its text, else the bytes. */
export interface CheckedInput {
  readonly input: string | Buffer;
  readonly mediaType: string;
}

/**
 * Reads the body of a submission and holds it against what the handler accepts.
 * @throws PaihaoError unsupported-media-type, payload-too-large, malformed-json, invalid-input
 */
export async function readInput(req: IncomingMessage, handler: Handler, maxBytes: number): Promise<CheckedInput> {
  const mediaType = acceptedType(req, handler);
  const bytes = await readBytes(req, maxBytes);
  if (mediaType !== "application/json") return { input: bytes, mediaType };
  const input = jsonText(bytes);
  await checkJson(input, handler);
  return { input, mediaType };
}

/**
 * Reads a JSON body of one of the server's own resources; an empty one stands for `{}`.
 * @throws PaihaoError payload-too-large, malformed-json, invalid-input
 */
export async function readJson<T>(
  req: IncomingMessage,
  schema: StandardSchemaV1<unknown, T>,
  maxBytes: number,
): Promise<T> {
  const bytes = await readBytes(req, maxBytes);
  return checked(schema, bytes.length === 0 ? {} : parseJson(jsonText(bytes)));
}

/** Parses JSON text and checks it with the handler's schema. @throws PaihaoError malformed-json, invalid-input */
export async function checkJson(text: string, handler: Handler): Promise<void> {
  const value = parseJson(text);
  if (handler.schema) await checked(handler.schema, value);
}

/** What a schema makes of a value. @throws PaihaoError invalid-input that points to what is wrong */
async function checked<T>(schema: StandardSchemaV1<unknown, T>, value: unknown): Promise<T> {
  const verdict = await schema["~standard"].validate(value);
  if (!verdict.issues) return verdict.value;
  const errors = verdict.issues.map(
    (issue): FieldError => ({
      pointer: pointerOf((issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part))),
      detail: issue.message,
    }),
  );
  const first = errors[0];
  throw new PaihaoError("invalid-input", first && `${first.pointer}: ${first.detail}`, { extensions: { errors } });
}

/** The whole body. @throws PaihaoError payload-too-large, or invalid-parameter when it is not as long as it says */
export async function readBytes(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  try {
    return await getRawBody(req, { limit: maxBytes, length: req.headers["content-length"] ?? null });
  } catch (error) {
    const type = (error as { type?: unknown }).type;
    if (type === "entity.too.large") {
      // Node reads on and throws away: a connection closed with unread bytes is reset, and the answer with it.
      throw new PaihaoError("payload-too-large", `The body is larger than ${maxBytes} bytes.`);
    }
    throw new PaihaoError("invalid-parameter", "The body did not arrive whole.", { cause: error });
  }
}

/** Media type of the request, without parameters, in lower case; a body without one is taken for JSON. */
function acceptedType(req: IncomingMessage, handler: Handler): string {
  const refuse = (detail: string) =>
    new PaihaoError("unsupported-media-type", detail, {
      headers: { Accept: handler.consumes.join(", ") },
      extensions: { accepts: handler.consumes },
    });
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw refuse(`Content-Encoding ${encoding} is not accepted: send the body as it is`);
  }
  const [type = "", ...parameters] = (req.headers["content-type"] ?? "application/json").split(";");
  const mediaType = type.trim().toLowerCase();
  if (!consumesType(handler, mediaType)) {
    throw refuse(
      `The queue ${handler.queue} accepts ${handler.consumes.join(", ")}, not ${mediaType || "an empty type"}.`,
    );
  }
  const charset = parameters
    .map((p) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/i.exec(p)?.[1])
    .find((c) => c !== undefined);
  if (mediaType === "application/json" && charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) {
    throw refuse(`JSON is UTF-8 (RFC 8259 §8.1), not ${charset}.`);
  }
  return mediaType;
}

function jsonText(bytes: Buffer): string {
  if (bytes.length === 0) throw new PaihaoError("malformed-json", "The body is empty.");
  if (!isUtf8(bytes)) throw new PaihaoError("malformed-json", "The body is not UTF-8.");
  return bytes.toString("utf8");
}

/** @throws PaihaoError malformed-json */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PaihaoError(
      "malformed-json",
      error instanceof SyntaxError ? error.message : "The body cannot be parsed.",
    );
  }
  if (deeperThan(value, JSON_DEPTH)) {
    throw new PaihaoError("malformed-json", `The body is nested deeper than ${JSON_DEPTH} levels.`);
  }
  return value;
}

function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => deeperThan(member, levels - 1));
}

/** A path as a JSON Pointer in a URI fragment (RFC 6901 §6). */
function pointerOf(path: readonly PropertyKey[]): string {
  return `#${path.map((part) => `/${encodeURIComponent(String(part).replace(/~/g, "~0").replace(/\//g, "~1"))}`).join("")}`;
}
