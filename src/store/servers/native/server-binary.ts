import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Logger } from "../../../log.ts";
import { isSupportedVersion, MINIMUM_REDIS } from "../check-server.ts";

const NAMES = ["redis-server", "valkey-server"] as const;
const run = promisify(execFile);

/** An installed Redis or Valkey. */
export interface ServerBinary {
  readonly name: (typeof NAMES)[number];
  readonly path: string;
  readonly version: string;
}

/** The servers on PATH. */
export interface FoundBinaries {
  /** The first suitable one. */
  readonly binary: ServerBinary | undefined;
  /** Why each of the others was skipped: too old, or it does not run. */
  readonly rejected: readonly string[];
}

/** Looks for redis-server, then valkey-server, on PATH, and logs why one was skipped. */
export async function findServerBinary(log: Logger): Promise<FoundBinaries> {
  const rejected: string[] = [];
  // The store's process is wrapped in a shell script, which Windows cannot run.
  if (process.platform === "win32") return { binary: undefined, rejected };
  for (const name of NAMES) {
    const path = await whereIs(name);
    if (path === undefined) continue;
    const version = await versionOf(path);
    if (version !== undefined && isSupportedVersion(version)) return { binary: { name, path, version }, rejected };
    const reason =
      version === undefined ? `${path} does not report its version` : `${path} is version ${version}, too old`;
    rejected.push(reason);
    log.warn(`not used as the store: ${reason}; ${MINIMUM_REDIS} or later is needed`);
  }
  return { binary: undefined, rejected };
}

/** The shell searches PATH, so that nothing here has to read the environment. */
async function whereIs(name: string): Promise<string | undefined> {
  try {
    return (await run("/bin/sh", ["-c", `command -v ${name}`])).stdout.trim() || undefined;
  } catch {
    // Status 127 or 1: not found.
    return undefined;
  }
}

async function versionOf(path: string): Promise<string | undefined> {
  try {
    return /\bv=(\d+\.\d+\.\d+)/.exec((await run(path, ["--version"], { timeout: 10_000 })).stdout)?.[1];
  } catch {
    // Not executable, e.g. built for another machine; the caller reports it.
    return undefined;
  }
}
