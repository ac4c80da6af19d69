/** Requests at a door, as `direct`, `by` and `label` see them before their turn. */
import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "koa";
import { accessOf } from "../../../http/request/access.ts";
import type { Gateway } from "../gateway.ts";
import { originOf } from "../routes.ts";
import type { ReadAhead } from "./relay-body.ts";

/** Largest body that `by` and `label` get, bytes. */
const DESCRIBED_BYTES = 65_536;
/** Largest body in which `stream` is looked for, bytes. */
const STREAMED_BYTES = 1024 ** 2;
/** How long a body is waited for at most, ms. */
const BODY_MS = 5000;

const JSON_TYPE = /^application\/(?:.+\+)?json\b/i;
/** `curl -d` says that JSON is a form, and servers of models take it for JSON all the same. */
const JSON_OR_CURL = /^application\/(?:(?:.+\+)?json|x-www-form-urlencoded)\b/i;

/** The path and query of a target in origin form or absolute form, byte for byte. */
export function pathOf(target: string): string {
  const rest = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/is.exec(target)?.[1];
  if (rest === undefined) return target;
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** A body of JSON. */
interface JsonBody {
  readonly value: unknown;
  readonly bytes: number;
}

/** The body of a request, if something depends on it and it is JSON that is not too long and comes in time. */
export async function lookAtBody(
  ctx: Context,
  body: ReadAhead,
  { speaks, readsBody }: Pick<NonNullable<Gateway["door"]>, "speaks" | "readsBody">,
): Promise<JsonBody | undefined> {
  const isForJson = speaks === "openai";
  if (!readsBody && !isForJson) return undefined;
  if (!(isForJson ? JSON_OR_CURL : JSON_TYPE).test(ctx.get("Content-Type"))) return undefined;
  const whole = new AbortController();
  const late = delay(BODY_MS, undefined, { signal: whole.signal }).catch(() => undefined);
  const bytes = await Promise.race([body.whole(isForJson ? STREAMED_BYTES : DESCRIBED_BYTES), late]);
  whole.abort();
  try {
    return bytes && { value: JSON.parse(bytes.toString("utf8")), bytes: bytes.length };
  } catch {
    return undefined;
  }
}

/**
 * A request as `by` and `label` get it.
 * @param isRead whether the gateway has such functions of its own: the usual label needs only method and path
 */
export function described(ctx: Context, path: string, body: JsonBody | undefined, isRead: boolean) {
  const { method = "GET", headers, httpVersion } = ctx.req;
  if (!isRead) return { method, path, headers: {}, from: { version: httpVersion } };
  const { sentIn = "" } = accessOf(ctx);
  const shown = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || name === sentIn ? [] : [[name, String(value)] as const],
  );
  return {
    ...{ method, path, headers: Object.fromEntries(shown), from: originOf(ctx) },
    ...(body && body.bytes <= DESCRIBED_BYTES && { body: body.value }),
  };
}
