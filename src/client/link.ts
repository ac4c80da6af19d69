import type { Connection } from "./connection.ts";
import type { Target } from "./follow.ts";
import { named } from "./valid.ts";

/** A link to a resource of a task. */
export const LINK = /^(?:(https?:\/\/[^?#]*?)|\/[^?#]*)?(\/v1\/requests\/[^\W_][\w.~-]{0,127})(?:\/[a-z]*)?(\?[^#]*)?$/;

/** The task of an id, or of a link to one of its resources, which may be signed. @throws TypeError */
export function targetOf(connection: Connection, text: string): Target {
  const [, base = connection.url, path = `/v1/requests/${named("id", text)}`, query = ""] = LINK.exec(text) ?? [];
  // The key must not go to another server, and a signed link does not need it.
  const isBare = query || base !== connection.url;
  return { connection: isBare ? connection.without(base) : connection, path, query };
}
