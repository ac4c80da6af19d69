#!/usr/bin/env node
import { existsSync } from "node:fs";
import { messageOf } from "../errors.ts";
import { CommandError, EXIT, failureOf } from "./exit.ts";
import { createProgram } from "./program.ts";

// The reader of a pipe has gone, as with `| head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});

try {
  loadEnvironment(".env");
  await createProgram().parseAsync();
} catch (error) {
  const { exitCode, message } = failureOf(error);
  if (message !== undefined) console.error(`paihao: ${message}`);
  process.exitCode = exitCode;
}

/** Variables that are set already win. @throws CommandError */
function loadEnvironment(file: string): void {
  try {
    if (existsSync(file)) process.loadEnvFile(file);
  } catch (error) {
    throw new CommandError(EXIT.failed, `${file} cannot be read: ${messageOf(error)}`);
  }
}
