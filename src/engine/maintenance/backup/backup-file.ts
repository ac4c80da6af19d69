import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { messageOf, StartError } from "../../../errors.ts";
import type { CopiedKey } from "../../../store/verbs/scripts.ts";

/** The first line of a backup. */
export interface BackupHeader {
  readonly format: typeof FORMAT;
  /** The release that wrote it. */
  readonly release: string;
  /** The version of the data in the store, see data-version.ts; empty if there was none. */
  readonly data: string;
  readonly prefix: string;
  readonly partitions: number;
  /** When the backup began, ms. */
  readonly at: number;
  /** The version of the store. */
  readonly store: string;
}

/** A Redis key of a partition, or a part of one. */
export interface BackupPart extends CopiedKey {
  readonly partition: number;
  /** 0 for the first part of a key, which replaces its former content; for a string, the byte at which the part begins. */
  readonly from: number;
}

/** The size of a backup. */
export interface BackupCounts {
  readonly keys: number;
  readonly tasks: number;
}

export const FORMAT = "paihao-backup-1";

/**
 * Writes a backup: lines of JSON, compressed with gzip. The first is the header, the last has the counts and the SHA-256 of all lines before it.
 * Bytes are written as the characters U+0000 to U+00FF. The file gets its name only once it is complete, and only this user can read it.
 * @param file `-`: standard output
 * @throws StartError if it cannot be written; then there is no new file, and an existing one is unchanged
 */
export async function writeBackup(
  file: string,
  header: BackupHeader,
  parts: AsyncIterable<BackupPart>,
): Promise<BackupCounts> {
  const counts = { keys: 0, tasks: 0 };
  async function* lines() {
    const hash = createHash("sha256");
    const line = (value: unknown) => {
      const text = `${JSON.stringify(value)}\n`;
      hash.update(text);
      return text;
    };
    yield line(header);
    for await (const { partition, key, type, expiresMs, from, items } of parts) {
      if (from === 0) counts.keys += 1;
      if (from === 0 && key.startsWith("t:")) counts.tasks += 1;
      yield line([partition, key, type, expiresMs, from, ...items.map((item) => item.toString("latin1"))]);
    }
    yield `${JSON.stringify({ ...counts, sha256: hash.digest("hex") })}\n`;
  }
  if (file === "-") {
    await pipeline(Readable.from(lines()), createGzip(), process.stdout, { end: false });
    return counts;
  }
  const unfinished = `${file}.part`;
  try {
    await rm(unfinished, { force: true });
    const out = createWriteStream(unfinished, { mode: 0o600, flags: "wx", flush: true });
    await pipeline(Readable.from(lines()), createGzip(), out);
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    if (isSystemError(error)) throw new StartError(`cannot write ${file}: ${messageOf(error)}`, { cause: error });
    throw error;
  }
  return counts;
}

/** A backup that has been read to its end: it is complete and unaltered. */
export interface CheckedBackup {
  readonly header: BackupHeader;
  readonly counts: BackupCounts;
  /** Reads it again. */
  parts(): AsyncIterable<BackupPart>;
}

/** Reads a backup to its end. @throws StartError if it cannot be read, is not a backup, or was cut off or altered */
export async function checkBackup(file: string): Promise<CheckedBackup> {
  const hash = createHash("sha256");
  let header: BackupHeader | undefined;
  let last = "";
  for await (const line of linesOf(file)) {
    header ??= headerOf(file, line);
    if (last !== "") hash.update(`${last}\n`);
    last = line;
  }
  if (header === undefined) throw notABackup(file);
  const end = parsed(last) as Partial<BackupCounts & { sha256: string }> | undefined;
  if (end?.sha256 === undefined) throw new StartError(`${file} is cut off: it has no end; nothing was changed`);
  if (end.sha256 !== hash.digest("hex")) throw altered(file);
  return {
    header,
    counts: { keys: end.keys ?? 0, tasks: end.tasks ?? 0 },
    async *parts() {
      for await (const line of linesOf(file)) {
        if (!line.startsWith("[")) continue;
        const [partition, key, type, expiresMs, from, ...items] = JSON.parse(line);
        yield {
          partition,
          key,
          type,
          expiresMs,
          from,
          items: items.map((item: string) => Buffer.from(item, "latin1")),
        };
      }
    },
  };
}

async function* linesOf(file: string): AsyncIterable<string> {
  const text = new PassThrough();
  const read = pipeline(createReadStream(file), createGunzip(), text);
  // Its failure ends the lines as well.
  read.catch(() => undefined);
  try {
    for await (const line of createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY })) yield line;
    await read;
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "Z_BUF_ERROR") throw new StartError(`${file} is cut off; nothing was changed`, { cause: error });
    if (messageOf(error) === "incorrect header check") throw notABackup(file);
    if (code?.startsWith("Z_")) throw altered(file);
    throw new StartError(`cannot read ${file}: ${messageOf(error)}`, { cause: error });
  } finally {
    text.destroy();
  }
}

function headerOf(file: string, line: string): BackupHeader {
  const header = parsed(line) as BackupHeader | undefined;
  if (header?.format === FORMAT) return header;
  const { format } = header ?? {};
  if (typeof format !== "string" || !(format as string).startsWith("paihao-backup-")) throw notABackup(file);
  throw new StartError(
    `${file} has the form ${format}, and this release reads ${FORMAT}; use the release that wrote it`,
  );
}

const notABackup = (file: string) => new StartError(`${file} is not a backup of paihao; nothing was changed`);
const altered = (file: string) =>
  new StartError(`${file} was altered after it was written: its checksum differs; nothing was changed`);

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const isSystemError = (error: unknown): boolean => error instanceof Error && "syscall" in error && "code" in error;
