import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { messageOf, StartError } from "../../errors.ts";

/** The longest path of a socket that all systems accept, in bytes; a longer path would silently be cut off. */
const MAX_PATH_BYTES = 103;
const STICKY = 0o1000;
const OTHERS_WRITE = 0o002;
/** The owner that a user namespace shows for files of users outside of it, such as root. */
const OUTSIDE_UID = 65_534;
const WINDOWS = process.platform === "win32";

/**
 * Makes the path of a socket for a store, in a new folder that only this user can enter: nobody else can connect to the store, or
 * take its place while it is not running.
 * @throws StartError if no such folder can be made
 */
export async function makeSocket(): Promise<string> {
  if (WINDOWS) return `//./pipe/paihao-${randomUUID()}`;
  try {
    const temporary = await realpath(tmpdir());
    const { uid, mode } = await stat(temporary);
    const mine = [0, process.getuid?.(), OUTSIDE_UID].includes(uid);
    if (!mine || ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0))
      throw new Error("other users can replace files in it");
    const folder = path.join(temporary, "paihao-");
    if (Buffer.byteLength(`${folder}XXXXXX/store`) > MAX_PATH_BYTES)
      throw new Error("its path is too long for a socket");
    return path.join(await mkdtemp(folder), "store");
  } catch (error) {
    throw new StartError(
      `cannot make a socket for the store in ${tmpdir()}: ${messageOf(error)}; set TMPDIR to another directory`,
      { cause: error },
    );
  }
}

/** Removes a socket and its folder; idempotent. */
export function removeSocket(socket: string): void {
  if (!WINDOWS) rmSync(path.dirname(socket), { recursive: true, force: true });
}

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
