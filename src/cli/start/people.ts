import pino from "pino";
import { plainLines } from "../terminal/print.ts";

/** Writes a line of the log as people read it: when, how bad, what, the rest as JSON, and below it the stack of an error. */
export function writeForPeople(line: string): void {
  const { time, level, msg, err, pid: _, ...rest } = JSON.parse(line);
  const clock = new Date(time).toTimeString().slice(0, 8);
  const more = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : "";
  const lines = [
    `[${clock}] ${pino.levels.labels[level]?.toUpperCase()} ${msg}${more}`,
    ...(err?.stack?.split("\n") ?? []),
  ];
  process.stdout.write(`${plainLines(lines.join("\n  "))}\n`);
}
