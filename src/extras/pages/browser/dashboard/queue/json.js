/** JSON as a person types it: numbers stay as they are written, and errors have a position. */

/** @typedef {{ rawJSON?: (text: string) => object, isRawJSON?: (value: unknown) => boolean }} RawJson */

/** Browsers before 2025 lack it: there, numbers are read and written as usual. */
const { rawJSON, isRawJSON } = /** @type {RawJson} */ (/** @type {unknown} */ (JSON));

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const SPACE = /[ \t\n\r]*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: no string of JSON has any
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/** The text is not JSON; `at` is the position of the error, in characters. */
export class NoJson extends SyntaxError {
  /** @param {string} text @param {string} message */
  constructor(text, message) {
    const at = faultIn(text);
    const lines = text.slice(0, at).split("\n");
    const place = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
    super(`this is not JSON at ${place}: ${message}`);
    this.at = at;
  }
}

/** @param {string} text @returns {unknown} @throws {NoJson} */
export function parse(text) {
  /** @param {string} _name @param {unknown} value @param {{ source?: string }} [context] */
  const revive = (_name, value, context) =>
    typeof value === "number" && context?.source !== undefined ? numberOf(context.source) : value;
  try {
    return JSON.parse(text, revive);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new NoJson(text, message.replace(/ (?:in JSON )?at (?:position|line) .*$/s, ""));
  }
}

/** @param {unknown} value @param {number} [indent] */
export const textOf = (value, indent) => JSON.stringify(value, null, indent);

/** A number as it was typed. @param {string} typed */
export const numberOf = (typed) => (NUMBER.test(typed) && rawJSON ? rawJSON(typed) : Number(typed));

/** @param {unknown} value */
export const isNumber = (value) => typeof value === "number" || isRawJSON?.(value) === true;

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isNumber(value);

/** Where a text stops being JSON. @param {string} text */
function faultIn(text) {
  let at = 0;
  /** @param {RegExp} pattern */
  const take = (pattern) => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  /** @param {string} sign */
  const sign = (sign) => {
    take(SPACE);
    if (text[at] !== sign) return false;
    at += 1;
    return true;
  };
  const member = () => take(SPACE) && take(STRING) && sign(":") && value();
  /** @param {() => boolean} part @param {string} end @returns {boolean} */
  const list = (part, end) => {
    if (sign(end)) return true;
    do if (!part()) return false;
    while (sign(","));
    return sign(end);
  };
  /** @returns {boolean} */
  const value = () => {
    if (sign("{")) return list(member, "}");
    if (sign("[")) return list(value, "]");
    return take(STRING) || take(SCALAR);
  };
  try {
    if (value()) take(SPACE);
  } catch {
    // It is nested too deeply to be searched.
  }
  return at;
}
