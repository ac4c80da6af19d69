import type { Answer } from "../task.ts";

/**
 * The result of what a worker answered: bytes become `application/octet-stream`, undefined a 204, anything else JSON.
 * @param given what the worker chose itself
 * @throws TypeError for what JSON cannot hold
 */
export function answerOf(
  value: unknown,
  given?: { readonly status?: number | undefined; readonly contentType?: string | undefined },
): Answer {
  if (value instanceof Uint8Array) {
    const contentType = given?.contentType ?? "application/octet-stream";
    return { status: given?.status ?? 200, contentType, headers: {}, body: value };
  }
  const json = JSON.stringify(value);
  if (json === undefined) return { status: given?.status ?? 204, contentType: null, headers: {}, body: "" };
  const contentType = given?.contentType ?? "application/json";
  return { status: given?.status ?? 200, contentType, headers: {}, body: json };
}
