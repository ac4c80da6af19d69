import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../test/shared/root.ts";

/** The package as npm would publish it. */
export interface Packed {
  readonly tarball: string;
  /** Paths below the root of the package, with `/`. */
  readonly files: readonly string[];
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}

/** Builds and packs this package into a folder. */
export function pack(folder: string): Packed {
  const said = run("npm", ["pack", "--json", "--loglevel", "error", "--pack-destination", folder], ROOT);
  const answer: unknown = JSON.parse(said.slice(said.search(/^[[{]/m)));
  // A list up to npm 11, by the name of the package from npm 12 on.
  const [packed] = Object.values(answer as Record<string, PackAnswer>);
  if (packed === undefined) throw new Error(`npm pack said ${said}`);
  const { filename, files, size, unpackedSize } = packed;
  return {
    tarball: join(folder, filename),
    files: files.map(({ path }) => path),
    packedBytes: size,
    unpackedBytes: unpackedSize,
  };
}

interface PackAnswer {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
  readonly size: number;
  readonly unpackedSize: number;
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
