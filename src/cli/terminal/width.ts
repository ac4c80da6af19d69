import stringWidth from "string-width";

const ELLIPSIS = "…";
const segmenter = new Intl.Segmenter();

/** How many columns of a terminal a text takes: two for a wide character, none for a combining one. */
export function widthOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

/** A text padded with spaces to a width, at its end or start. */
export function padded(text: string, width: number, atRight = false): string {
  const spaces = " ".repeat(Math.max(0, width - widthOf(text)));
  return atRight ? spaces + text : text + spaces;
}

/** A text cut to a width, at its end or in the middle. */
export function cut(text: string, width: number, where: "end" | "middle" = "end"): string {
  if (widthOf(text) <= width) return text;
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  const room = Math.max(0, width - 1);
  const tail =
    where === "end"
      ? ""
      : beginning(characters.toReversed(), Math.floor(room / 2))
          .reverse()
          .join("");
  return beginning(characters, room - widthOf(tail)).join("") + ELLIPSIS + tail;
}

function beginning(characters: readonly string[], width: number): string[] {
  let left = width;
  const end = characters.findIndex((character) => {
    left -= widthOf(character);
    return left < 0;
  });
  return characters.slice(0, end);
}
