import type { Command } from "commander";
import { command } from "../command.ts";

/** `paihao init`: a project to start from. */
export function initCommand(): Command {
  return command("init [dir]", "create a project: a handler with its test, settings, compose", [
    "paihao init my-tasks",
    "paihao init other-tasks --no-install",
    "paihao init python-tasks --python --no-install",
  ])
    .option("--no-install", "do not run npm install")
    .option("--python", "a worker in Python instead of a handler")
    .option("--from <spec>", "what to install as paihao instead of this package: a version, a URL or a path")
    .action(async (dir: string | undefined, options: { install: boolean; from?: string; python?: boolean }) => {
      const { init } = await import("../init/init.ts");
      await init(dir ?? ".", options);
    });
}
