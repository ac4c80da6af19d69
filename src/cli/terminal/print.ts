import { styleText } from "node:util";
import { escapedControls, withoutControls } from "../../redact.ts";

type Style = Parameters<typeof styleText>[0];

/** Marks the escape sequences of this program. Random, so that text from elsewhere cannot contain it. */
const OURS = `${Math.random()}${Math.random()}`;

/** Colours text if the stream is a terminal with colours, and NO_COLOR does not forbid them; for {@link shown}. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  const [on = "", off = ""] = styleText(style, "x", { stream }).split("x");
  return on === "" ? text : [OURS, on, OURS, text, OURS, off, OURS].join("");
}

/** Text for people, from any origin: the terminal obeys only the sequences of {@link paint} in it. */
export function shown(text: string): string {
  const parts = text.split(OURS);
  return parts.map((part, n) => (n % 2 === 1 ? part : withoutControls(part))).join("");
}

/** The same in one line, whatever is in it. */
export function shownLine(line: string): string {
  return shown(line).replaceAll("\n", "\ufffd");
}

/** A line of a result: to stdout. */
export function print(line: string): void {
  process.stdout.write(`${shownLine(line)}\n`);
}

/** One JSON value, in one line where a program reads it. */
export function printJson(value: unknown): void {
  printData(JSON.stringify(value, null, process.stdout.isTTY ? 2 : 0));
}

/** One JSON value in one line, always. */
export function printJsonLine(value: unknown): void {
  printData(JSON.stringify(value));
}

/** Writes data as it is, except that on a terminal control characters are escaped as in JSON; ends with a line break. */
export function printData(text: string): void {
  const data = process.stdout.isTTY ? escapedControls(text) : text;
  process.stdout.write(data.endsWith("\n") ? data : `${data}\n`);
}

/** A line for a person: to stderr. */
export function note(line: string): void {
  process.stderr.write(`${shownLine(line)}\n`);
}

/** Text from elsewhere, in one line and without characters that a terminal would obey. */
export function plain(text: string): string {
  return withoutControls(text.replace(/\s+/g, " "));
}

/** The same for text of several lines. */
export function plainLines(text: string): string {
  return withoutControls(text.replaceAll("\r\n", "\n"));
}
