import { ProblemError } from "../../errors.ts";
import { pointerOf } from "./field-errors.ts";

/** The maximum depth of nesting: deeper JSON has no use, and is expensive to walk. */
const JSON_DEPTH = 64;

/** A number with fewer digits and no exponent is finite. */
const DIGITS_OF_LARGEST = 308;

const [QUOTE, BACKSLASH, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];
const [ZERO, NINE, SMALL_E, CAPITAL_E] = [0x30, 0x39, 0x65, 0x45];

/**
 * Parses JSON from a caller. Numbers too large for a double (`1e400`) are refused: they would become Infinity, which JSON
 * cannot represent. Integers above 2^53, `-0` and escaped lone surrogates are valid JSON, and left to the handler.
 * @throws ProblemError malformed-json; invalid-input of a number too large
 */
export function parseJson(text: string): unknown {
  const { tooDeep, mayOverflow } = scan(text);
  if (tooDeep) throw new ProblemError("malformed-json", `The body is nested deeper than ${JSON_DEPTH} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ProblemError(
      "malformed-json",
      error instanceof SyntaxError ? error.message : "The body cannot be parsed.",
    );
  }
  const path = mayOverflow ? pathOfInfinity(value) : undefined;
  if (path) {
    const pointer = pointerOf(path);
    const detail = "the number is too large, expected one that fits a double";
    throw new ProblemError("invalid-input", `${pointer}: ${detail}`, { extensions: { errors: [{ pointer, detail }] } });
  }
  return value;
}

/**
 * One pass over the text before it is parsed: a megabyte of `[` takes the parser a second, and this scan a millisecond. Syntax
 * errors are left to the parser.
 */
function scan(text: string): { tooDeep: boolean; mayOverflow: boolean } {
  let depth = 0;
  let digits = 0;
  let mayOverflow = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      digits += 1;
      if (digits > DIGITS_OF_LARGEST) mayOverflow = true;
      continue;
    }
    // The e of true and false does not follow a digit.
    if (digits > 0 && (code === SMALL_E || code === CAPITAL_E)) mayOverflow = true;
    digits = 0;
    if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      depth += 1;
      if (depth > JSON_DEPTH) return { tooDeep: true, mayOverflow };
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      depth -= 1;
    } else if (code === QUOTE) {
      at = endOfString(text, at + 1);
    }
  }
  return { tooDeep: false, mayOverflow };
}

/** The end of the current string: its closing quotation mark, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    // An odd number of them escapes it. The opening quotation mark ends the count.
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

/** The path of a number that was parsed as Infinity; undefined if there is none. */
function pathOfInfinity(value: unknown): string[] | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : [];
  if (typeof value !== "object" || value === null) return undefined;
  // No list of the entries of an array is made: it would be several times as large.
  const names = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const name of names) {
    const path = pathOfInfinity((value as Record<PropertyKey, unknown>)[name]);
    if (path) return [String(name), ...path];
  }
  return undefined;
}
