import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { messageOf, StartError } from "../errors.ts";
import { type ApiKey, formatApiKey, parseApiKey } from "./api-key.ts";

/** A character a byte, whatever somebody wrote into a comment: offsets in the text are offsets in the file. */
const TEXT = "latin1";

/** Read and written by the owner; hashes are no keys, but names and scopes are nobody else's business. */
const OWNERS_ALONE = 0o600;

/** What is in a file of keys. */
export interface KeyFile {
  readonly keys: readonly ApiKey[];
  /** What is wrong with the lines that are none, each with its number. Such a line lets nobody in. */
  readonly faults: readonly string[];
}

interface Line {
  readonly number: number;
  /** Where it begins in the file, bytes. */
  readonly offset: number;
  readonly text: string;
}

/** Reads keys, one a line; empty lines and those that begin with # say nothing. */
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

/** Adds a key to a file, which is its owner's alone from then on, whoever made it and how. @throws StartError when the name is taken */
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
 * Makes a comment of a key's line, in place and of the same length: nobody ever reads half a file, a key that is added
 * meanwhile stays, and so do the file's owner and mode.
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

/** The lines that say something. */
function linesOf(content: string): Line[] {
  let offset = 0;
  const lines = content.split("\n").map((text, index) => {
    const line = { number: index + 1, offset, text };
    offset += text.length + 1;
    return line;
  });
  return lines.filter(({ text }) => !/^\s*(?:#|$)/.test(text));
}
