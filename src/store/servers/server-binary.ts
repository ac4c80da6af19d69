import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Logger } from "../../log.ts";
import { isSupportedVersion, MINIMUM_REDIS } from "./check-server.ts";

const NAMES = ["redis-server", "valkey-server"] as const;
const run = promisify(execFile);

/** A Redis or Valkey that is installed on this machine. */
export interface ServerBinary {
  readonly name: (typeof NAMES)[number];
  readonly path: string;
  readonly version: string;
}

/** What there is on PATH. */
export interface FoundBinaries {
  /** The first that will do. */
  readonly fit: ServerBinary | undefined;
  /** Those that are too old or do not run, each in words. */
  readonly unfit: readonly string[];
}

/** Looks for redis-server, then valkey-server, on PATH, and says in the log why one was passed over. */
export async function findServerBinary(log: Logger): Promise<FoundBinaries> {
  const unfit: string[] = [];
  // The process that wraps the store's is a shell script.
  if (process.platform === "win32") return { fit: undefined, unfit };
  for (const name of NAMES) {
    const path = await whereIs(name);
    if (path === undefined) continue;
    const version = await versionOf(path);
    if (version !== undefined && isSupportedVersion(version)) return { fit: { name, path, version }, unfit };
    const reason =
      version === undefined ? `${path} does not report its version` : `${path} is version ${version}, too old`;
    unfit.push(reason);
    log.warn(`not used as the store: ${reason}; ${MINIMUM_REDIS} or later is needed`);
  }
  return { fit: undefined, unfit };
}

/** The shell looks through PATH, so that nothing here has to read the environment. */
async function whereIs(name: string): Promise<string | undefined> {
  try {
    return (await run("/bin/sh", ["-c", `command -v ${name}`])).stdout.trim() || undefined;
  } catch {
    // Status 127 or 1: there is none.
    return undefined;
  }
}

async function versionOf(path: string): Promise<string | undefined> {
  try {
    return /\bv=(\d+\.\d+\.\d+)/.exec((await run(path, ["--version"], { timeout: 10_000 })).stdout)?.[1];
  } catch {
    // Not executable here, e.g. built for another machine; the caller says so.
    return undefined;
  }
}
