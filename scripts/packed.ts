import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../test/shared/root.ts";

/** Builds and packs this package into a folder, as npm would publish it; returns the path of the tarball. */
export function pack(folder: string): string {
  const said = run("npm", ["pack", "--loglevel", "error", "--pack-destination", folder], ROOT);
  return join(folder, said.trim().split("\n").at(-1) ?? "");
}

/** Runs a command; returns its standard output. @throws Error with all that it printed if it fails */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
    maxBuffer: 64 * 1024 ** 2,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: exit code ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** Bytes as people read them. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}
