/**
 * Parsers for lists in header fields (RFC 9110 §5.6). Written as scanners: a regular expression with optional white space on
 * both sides of something optional takes exponential time on a hostile value.
 */

/** Splits at a separator, but not within quoted strings; an unterminated one extends to the end of the value. */
export function splitField(value: string, separator: "," | ";"): string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let i = 0; i < value.length; i += 1) {
    const char = value[i];
    if (quoted && char === "\\") i += 1;
    else if (char === '"') quoted = !quoted;
    else if (char === separator && !quoted) {
      parts.push(value.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(value.slice(start));
  return parts;
}

/** Trims optional white space: spaces and tabs only (§5.6.3). */
export function trimField(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value[start])) start += 1;
  while (end > start && isSpace(value[end - 1])) end -= 1;
  return value.slice(start, end);
}

/** A name and the value after its "="; "" without a value. */
export interface NameValue {
  readonly name: string;
  readonly value: string;
}

const NAME_VALUE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:[ \t]*=[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]*|"(?:[^"\\]|\\.)*"))?$/;

/** Reads `token [ BWS "=" BWS ( token / quoted-string ) ]`; undefined for anything else. */
export function nameValue(part: string): NameValue | undefined {
  const match = NAME_VALUE.exec(trimField(part));
  const name = match?.[1];
  return name === undefined ? undefined : { name: name.toLowerCase(), value: unquote(match?.[2] ?? "") };
}

/** The content of a quoted string; anything else unchanged. */
function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
}

function isSpace(char: string | undefined): boolean {
  return char === " " || char === "\t";
}
