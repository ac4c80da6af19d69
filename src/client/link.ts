import type { Connection } from "./connection.ts";
import type { Target } from "./follow.ts";

const LINK = /^(https?:\/\/[^?#]*?)?(\/v1\/requests\/[^\W_][\w.~-]{0,127})(?:\/[a-z]*)?(\?[^#]*)?$/;

/** The task of a link to one of its resources, which may be signed; undefined if the text is not such a link. */
export function linkedTask(connection: Connection, text: string): Target | undefined {
  const [, base = connection.url, path, query = ""] = LINK.exec(text) ?? [];
  if (!path) return undefined;
  // The key must not go to another server, and a signed link does not need it.
  const isBare = query || base !== connection.url;
  return { connection: isBare ? connection.without(base) : connection, path, query };
}
