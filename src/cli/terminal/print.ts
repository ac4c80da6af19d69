import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Colours text where the stream is a terminal that has colours, and NO_COLOR does not forbid them. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

/** A result: to stdout. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** One JSON value, in one line where a program reads it. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, process.stdout.isTTY ? 2 : 0));
}

/** One JSON value in one line, always. */
export function printJsonLine(value: unknown): void {
  print(JSON.stringify(value));
}

/** For a person: to stderr. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text from elsewhere, in one line and without characters that a terminal would obey. */
export function plain(text: string): string {
  return text.replace(/\s+/g, " ").replace(CONTROLS, "\ufffd");
}

/** The same for text of several lines. */
export function plainLines(text: string): string {
  return text.replace(CONTROLS, (character) => (character === "\n" || character === "\t" ? character : "\ufffd"));
}
