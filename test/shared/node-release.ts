import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";

const CACHE = path.resolve(import.meta.dirname, "../../.cache/node");

/** The folder of the `node` of a major version, fetched by npm where it is not in the cache. */
export function nodeFolder(major: string): string {
  if (!/^\d{2}$/.test(major)) throw new Error(`${major} is not a major version of Node, such as 24`);
  const prefix = path.join(CACHE, major);
  // What the package `node` installs for this machine.
  const name = `node-${process.platform}-${process.arch}`;
  const folder = path.join(prefix, "node_modules", name, "bin");
  if (!existsSync(path.join(folder, "node"))) {
    mkdirSync(prefix, { recursive: true });
    execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefix", prefix, `${name}@${major}`], {
      stdio: ["ignore", "inherit", "inherit"],
    });
  }
  return folder;
}

/** Runs a command under another major version of Node, and so everything that it starts; resolves with its exit code. */
export async function runUnderNode(major: string, command: string, args: readonly string[]): Promise<number> {
  const PATH = `${nodeFolder(major)}${path.delimiter}${process.env.PATH ?? ""}`;
  const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, PATH } });
  // From a terminal, the command gets it as well, and ends by itself.
  process.on("SIGINT", () => undefined);
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}
