#!/usr/bin/env node
import { existsSync } from "node:fs";
import { messageOf } from "../errors.ts";
import { CommandError, EXIT, failureOf } from "./exit.ts";
import { createProgram } from "./program.ts";
import { note } from "./terminal/print.ts";

// The reader of a pipe has gone, as with `| head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});

try {
  loadEnvironment(".env");
  await createProgram().parseAsync();
} catch (error) {
  report(error);
}

/** A defect is told with its stack, as Node would; not by Node, since a server may have written its message. */
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

/** Variables that are set already win. @throws CommandError */
function loadEnvironment(file: string): void {
  try {
    if (existsSync(file)) process.loadEnvFile(file);
  } catch (error) {
    throw new CommandError(EXIT.failed, `${file} cannot be read: ${messageOf(error)}`);
  }
}
