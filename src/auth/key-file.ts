import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { messageOf, StartError } from "../errors.ts";
import { type ApiKey, formatApiKey, parseApiKey } from "./api-key.ts";

/** One character for each byte, even in comments: offsets in the text are offsets in the file. */
const TEXT = "latin1";

/** Readable and writable only by the owner: hashes are not keys, but names and scopes are private too. */
const OWNERS_ALONE = 0o600;

/** The content of a key file. */
export interface KeyFile {
  readonly keys: readonly ApiKey[];
  /** The errors of invalid lines, each with its line number. Such lines are ignored. */
  readonly faults: readonly string[];
}

interface KeyFileLine {
  readonly number: number;
  /** Its offset in the file, bytes. */
  readonly offset: number;
  readonly text: string;
}

/** Reads keys, one for each line; empty lines and those starting with # are skipped. */
export function parseKeyFile(content: string): KeyFile {
  const keys: ApiKey[] = [];
  const faults: string[] = [];
  for (const { number, text } of linesOf(content)) {
    try {
      const key = parseApiKey(text);
      if (keys.some(({ name }) => name === key.name)) throw new StartError(`a second key is named ${key.name}`);
      keys.push(key);
    } catch (error) {
      faults.push(`line ${number}: ${messageOf(error)}`);
    }
  }
  return { keys, faults };
}

/** @throws Error of the file system */
export function readKeyFile(path: string): KeyFile {
  return parseKeyFile(readFileSync(path, TEXT));
}

/**
 * Adds a key to a file, and makes the file accessible only to its owner, even if it existed. @throws StartError if the name is
 * taken
 */
export function appendKey(path: string, key: ApiKey): void {
  const file = openSync(path, "a+", OWNERS_ALONE);
  try {
    const content = contentOf(file);
    if (parseKeyFile(content).keys.some(({ name }) => name === key.name)) {
      throw new StartError(`${path} has a key named ${key.name} already: revoke it first, or choose another name`);
    }
    fchmodSync(file, OWNERS_ALONE);
    writeSync(file, `${content === "" || content.endsWith("\n") ? "" : "\n"}${formatApiKey(key)}\n`);
  } finally {
    closeSync(file);
  }
}

/**
 * Turns the line of a key into a comment, in place and of the same length: no reader ever sees half a file, a key added
 * meanwhile is kept, and so are the owner and mode of the file.
 * @returns whether there was such a key
 */
export function revokeKey(path: string, name: string): boolean {
  const file = openSync(path, "r+");
  try {
    const revoked = linesOf(contentOf(file)).filter(({ text }) => text.split(":")[0]?.trim() === name);
    for (const { text, offset } of revoked) {
      writeSync(file, `# revoked: ${name}`.slice(0, text.length).padEnd(text.length), offset);
    }
    return revoked.length > 0;
  } finally {
    closeSync(file);
  }
}

function contentOf(file: number): string {
  const bytes = Buffer.alloc(fstatSync(file).size);
  return bytes.toString(TEXT, 0, readSync(file, bytes, 0, bytes.length, 0));
}

/** The lines that are not empty or comments. */
function linesOf(content: string): KeyFileLine[] {
  let offset = 0;
  const lines = content.split("\n").map((text, index) => {
    const line = { number: index + 1, offset, text };
    offset += text.length + 1;
    return line;
  });
  return lines.filter(({ text }) => !/^\s*(?:#|$)/.test(text));
}
