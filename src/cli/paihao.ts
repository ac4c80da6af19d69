#!/usr/bin/env node
import { messageOf } from "../errors.ts";
import { loadEnvironment } from "./environment.ts";
import { EXIT, failureOf } from "./exit.ts";
import { createProgram } from "./program.ts";
import { note } from "./terminal/print.ts";

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // The reader of a pipe has gone, as with `| head`.
    if (error.code === "EPIPE") process.exit();
    // An error of stderr cannot be reported anywhere, and stdout may still be complete.
    if (stream === process.stderr) return;
    note(`paihao: standard output cannot be written: ${messageOf(error)}`);
    process.exit(EXIT.failed);
  });
}

try {
  loadEnvironment();
  await createProgram().parseAsync();
} catch (error) {
  report(error);
}

/** Prints a defect with its stack, as Node would; not by Node, since the message may contain text from a server. */
function report(error: unknown): void {
  let lines: readonly string[] = [];
  try {
    const { exitCode, message } = failureOf(error);
    if (message !== undefined) lines = `paihao: ${message}`.split("\n");
    process.exitCode = exitCode;
  } catch (defect) {
    lines = String(defect instanceof Error ? defect.stack : defect).split("\n");
    process.exitCode = EXIT.failed;
  }
  for (const line of lines) note(line);
}
