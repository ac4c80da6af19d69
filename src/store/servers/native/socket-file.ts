import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** In a data directory: where the store listens that has it open. Whoever may read it may connect, as the same user. */
const fileOf = (dir: string): string => path.join(dir, "store.socket");

/** Tells other commands of this user where the store of a data directory listens. */
export async function writeSocketFile(dir: string, socket: string): Promise<void> {
  await writeFile(fileOf(dir), socket, { mode: 0o600 });
}

/** Where the store of a data directory listens; undefined if nobody said so. */
export async function readSocketFile(dir: string): Promise<string | undefined> {
  return (await readFile(fileOf(dir), "utf8").catch(() => "")) || undefined;
}

/** Idempotent. */
export async function removeSocketFile(dir: string): Promise<void> {
  await rm(fileOf(dir), { force: true });
}
