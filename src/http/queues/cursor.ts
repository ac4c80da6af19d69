import type { PageEnd } from "../../engine/reading/page.ts";
import type { Place } from "../../store/verbs/scripts.ts";
import { wrongParameter } from "../../wire/parameter.ts";

/** A score as Redis writes it, a space, and an id; ids of the server's own tasks contain colons. */
const FORM = /^(\d{1,17}(?:\.\d{1,6})?) ([A-Za-z0-9][A-Za-z0-9._~:-]{0,299})$/;
/** Separates the places in the partitions. */
const BETWEEN = ",";

/** The cursor of the next page: an opaque form of the last place, or of those in all partitions. */
export function cursorOf({ parts, ...place }: PageEnd): string {
  const text = parts ? parts.map((part) => part && textOf(part)).join(BETWEEN) : textOf(place);
  return Buffer.from(text).toString("base64url");
}

const textOf = ({ score, id }: Place): string => `${score} ${id}`;

/** The place in a cursor. @throws ProblemError invalid-parameter */
export function readCursor(cursor: string): PageEnd {
  const texts = Buffer.from(cursor, "base64url").toString("latin1").split(BETWEEN);
  const parts = texts.map((text) => (text === "" ? null : placeIn(text)));
  const [first] = parts;
  const end = texts.length === 1 && first ? first : { score: "", id: "", parts };
  // The decoder ignores invalid characters, so the cursor must be exactly as we would write it.
  if (cursor === "" || cursorOf(end) !== cursor) throw wrongCursor();
  return end;
}

function placeIn(text: string): Place {
  const [, score, id] = FORM.exec(text) ?? [];
  if (score === undefined || id === undefined) throw wrongCursor();
  return { score, id };
}

const wrongCursor = () => wrongParameter("cursor", "expected the `next` of another page");
