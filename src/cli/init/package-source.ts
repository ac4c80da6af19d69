import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../errors.ts";
import { CommandError, EXIT } from "../exit.ts";

/** Of this package. */
export const OWN_FOLDER = fileURLToPath(new URL("../../../", import.meta.url));
/** The registry whose packages may be asked for by their name and version. */
const PUBLIC_REGISTRY = "https://registry.npmjs.org/";
/** The folder of a project in which the package is kept. */
export const VENDOR = "vendor";

/** What a project installs as paihao. */
export interface PackageSource {
  readonly version: string;
  /** The version of zod, which handlers import. */
  readonly zod: string;
  /** For people. */
  readonly from: string;
  /** What npm is asked for; undefined if the package itself has to be packed into the project. */
  readonly spec: string | undefined;
  /** The folder that is packed in that case. */
  readonly folder: string;
}

/**
 * The package that this command belongs to, or the one that the person names. Only a package from the public registry is requested there
 * again: in any other registry, somebody else may have registered the name.
 * @param from a version, a URL or a path
 */
export async function packageSource(from: string | undefined): Promise<PackageSource> {
  const { version, dependencies } = JSON.parse(await readFile(path.join(OWN_FOLDER, "package.json"), "utf8"));
  const known = { version, zod: dependencies.zod, folder: OWN_FOLDER };
  if (from !== undefined) {
    const isPath = /^(?:file:|\.{0,2}[/\\]|[A-Za-z]:[/\\])|\.(?:tgz|tar\.gz)$/.test(from) && !/^https?:/.test(from);
    if (!isPath) return { ...known, from, spec: from };
    const folder = path.resolve(from.replace(/^file:/, ""));
    return { ...known, from: folder, spec: undefined, folder };
  }
  const folder = await realpath(OWN_FOLDER);
  const origin = await originOf(folder);
  return { ...known, folder, from: origin, spec: origin.startsWith(PUBLIC_REGISTRY) ? `^${version}` : undefined };
}

/** Where npm has an installed package from: a URL or the path of a tarball. The folder itself if npm did not install it. */
async function originOf(folder: string): Promise<string> {
  const modules = path.dirname(folder);
  try {
    const lock = JSON.parse(await readFile(path.join(modules, ".package-lock.json"), "utf8"));
    const { resolved } = lock.packages[`node_modules/${path.basename(folder)}`];
    return resolved.startsWith("file:") ? path.resolve(modules, "..", resolved.slice("file:".length)) : resolved;
  } catch {
    return folder;
  }
}

/**
 * Packs the package into a project, so that it installs the same even if its source disappears.
 * @returns what npm is to install
 * @throws CommandError if npm fails
 */
export async function packInto(root: string, { folder }: PackageSource): Promise<string> {
  try {
    await mkdir(path.join(root, VENDOR), { recursive: true });
  } catch (error) {
    throw new CommandError(EXIT.failed, `${root} cannot be written: ${messageOf(error)}`, { cause: error });
  }
  // A checkout may have no declarations yet. An installed package is whole, and the tools that build it are not installed.
  const isCheckout = existsSync(path.join(folder, "scripts/build.ts"));
  const pack = ["pack", folder, "--loglevel=error", "--pack-destination", VENDOR];
  const { how, stdout } = await runNpm(isCheckout ? pack : [...pack, "--ignore-scripts"], root);
  const file = stdout.trim().split("\n").at(-1) ?? "";
  if (how === undefined && file.endsWith(".tgz")) return `file:${VENDOR}/${file}`;
  throw new CommandError(EXIT.failed, `npm could not pack ${folder} (${how ?? "it names no file"})`);
}

/**
 * Runs npm in a folder; its messages go to stderr.
 * @param show whether its stdout is for people as well
 * @returns what it printed, and how it failed
 */
export async function runNpm(
  args: readonly string[],
  cwd: string,
  { show = false } = {},
): Promise<{ how: string | undefined; stdout: string }> {
  // On Windows npm is a script, which needs a shell.
  const shell = process.platform === "win32";
  const npm = spawn("npm", shell ? args.map((arg) => `"${arg}"`) : args, {
    cwd,
    stdio: ["ignore", show ? process.stderr : "pipe", process.stderr],
    shell,
  });
  const printed = npm.stdout ? text(npm.stdout).catch(() => "") : "";
  const how = await once(npm, "close").then(
    ([code, signal]) => (code === 0 ? undefined : `exit code ${code ?? signal}`),
    messageOf,
  );
  return { how, stdout: await printed };
}
