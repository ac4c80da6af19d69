import type { Body } from "./connection.ts";

/** A body with its media type. */
export interface Encoded {
  readonly body: Body;
  readonly type: string;
}

const JSON_TYPE = /^application\/([^;]+\+)?json\s*(;|$)/i;

/**
 * An input as a body: bytes as they are, anything else as JSON, and a string as text if its type says so.
 * @param type media type; by default that of a Blob, `application/octet-stream` or `application/json`
 */
export function encode(input: unknown, type?: string): Encoded {
  if (input instanceof Blob || input instanceof ArrayBuffer || ArrayBuffer.isView(input)) {
    return { body: input as Body, type: type || (input as Partial<Blob>).type || "application/octet-stream" };
  }
  if (typeof input === "string" && type !== undefined && !JSON_TYPE.test(type)) return { body: input, type };
  return { body: JSON.stringify(input ?? null), type: type ?? "application/json" };
}

/** A result: JSON as its value, bytes as bytes, nothing as undefined, and anything else, such as a redirect, as a Response. */
export async function decode(response: Response): Promise<unknown> {
  const type = response.headers.get("Content-Type");
  // Only a response with a body has a type.
  if (!type) return response.ok ? undefined : response;
  if (type.startsWith("application/octet-stream")) return new Uint8Array(await response.arrayBuffer());
  if (!JSON_TYPE.test(type)) return response;
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    // The body of a handler's Response need not match its media type.
    return new Response(text, response);
  }
}
