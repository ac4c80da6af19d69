import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../src/errors.ts";
import { createLog } from "../../src/log.ts";
import { type ProvisionedStore, provisionStore } from "../../src/store/servers/provision.ts";

/** The seed of a run: the given one, otherwise a random one. */
export function seedOf(given: string | undefined): number {
  return given === undefined ? Date.now() % 2 ** 31 : Number(given);
}

/** Starts to measure; the result tells the time since then. */
export function stopwatch(): () => string {
  const begun = performance.now();
  return () => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
}

/** Prints an error with its cause, and lets the process end with status 1. */
function fail(error: unknown): void {
  console.error(messageOf(error));
  if (error instanceof Error && error.cause !== undefined) console.error(messageOf(error.cause));
  process.exitCode = 1;
}

/** Runs long work on a store of its own, and prints its error if it fails. */
export async function longRun(work: (store: ProvisionedStore) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "paihao-run-"));
  const store = await provisionStore({ redisUrl: undefined, store: undefined, dataDir }, createLog("error"));
  try {
    await work(store);
  } catch (error) {
    fail(error);
  } finally {
    await store.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
