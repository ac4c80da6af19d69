import type { Place } from "../../store/scripts/scripts.ts";
import { wrongParameter } from "../task/submit-options.ts";

/** A score as Redis writes it, a space, and an id: those of the server's own tasks hold colons. */
const FORM = /^(\d{1,17}(?:\.\d{1,6})?) ([A-Za-z0-9][A-Za-z0-9._~:-]{0,299})$/;

/** Where a page ended, for whoever wants the next: to be handed back as it is. */
export function cursorOf({ score, id }: Place): string {
  return Buffer.from(`${score} ${id}`).toString("base64url");
}

/** The place that a cursor stands for. @throws PaihaoError invalid-parameter */
export function readCursor(cursor: string): Place {
  const [, score, id] = FORM.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  // What does not come out as it went in was never handed out: the decoder passes over what is no base64url.
  if (score === undefined || id === undefined || cursorOf({ score, id }) !== cursor) {
    throw wrongParameter("cursor", "expected the `next` of another page");
  }
  return { score, id };
}
