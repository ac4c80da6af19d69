import { styleText } from "node:util";
import { withoutControls } from "../../control-characters.ts";

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

/** Text from elsewhere, in one line and without characters that a terminal would obey. */
export function plain(text: string): string {
  return withoutControls(text.replace(/\s+/g, " "));
}

/** The same for text of several lines. */
export function plainLines(text: string): string {
  return withoutControls(text.replaceAll("\r\n", "\n"));
}
