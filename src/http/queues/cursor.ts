import type { Place } from "../../store/verbs/page.ts";
import { wrongParameter } from "../../wire/parameter.ts";

/** A score as Redis writes it, a space, and an id; ids of the server's own tasks contain colons. */
const FORM = /^(-?\d{1,17}(?:\.\d{1,6})?) ([A-Za-z0-9][A-Za-z0-9._~:-]{0,299})$/;

/** The cursor of the next page: an opaque form of the last place. */
export function cursorOf({ score, id }: Place): string {
  return Buffer.from(`${score} ${id}`).toString("base64url");
}

/** The place in a cursor. @throws ProblemError invalid-parameter */
export function readCursor(cursor: string): Place {
  const [, score, id] = FORM.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  const place = score !== undefined && id !== undefined ? { score, id } : null;
  // The decoder ignores invalid characters, so the cursor must be exactly as we would write it.
  if (place === null || cursorOf(place) !== cursor) {
    throw wrongParameter("cursor", "expected the `next` of another page");
  }
  return place;
}
