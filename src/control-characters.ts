/**
 * Characters that a terminal obeys, or that change the order in which a line is read: C0 except tab and line break, DEL, C1, line
 * separators, and those of bidirectional text.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Text with U+FFFD in place of each of them. */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, "\ufffd");
}

/** JSON with each of them as an escape sequence: the same values. */
export function escapedControls(json: string): string {
  return json.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
