import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** A file in a data directory that says where its store listens. Only the same user can read it, and may connect. */
const fileOf = (dir: string): string => path.join(dir, "store.socket");

/** Records where the store of a data directory listens, for other commands of this user. */
export async function writeSocketFile(dir: string, socket: string): Promise<void> {
  await writeFile(fileOf(dir), socket, { mode: 0o600 });
}

/** Where the store of a data directory listens; undefined if that is not recorded. */
export async function readSocketFile(dir: string): Promise<string | undefined> {
  return (await readFile(fileOf(dir), "utf8").catch(() => "")) || undefined;
}

/** Idempotent. */
export async function removeSocketFile(dir: string): Promise<void> {
  await rm(fileOf(dir), { force: true });
}
