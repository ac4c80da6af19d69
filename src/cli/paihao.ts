#!/usr/bin/env node
import { existsSync } from "node:fs";
import { failureOf } from "./exit.ts";
import { createProgram } from "./program.ts";

// The reader of a pipe has gone, as with `| head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});

try {
  if (existsSync(".env")) process.loadEnvFile(".env");
  await createProgram().parseAsync();
} catch (error) {
  const { exitCode, message } = failureOf(error);
  if (message !== undefined) console.error(`paihao: ${message}`);
  process.exitCode = exitCode;
}
