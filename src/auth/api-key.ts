import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { StartError } from "../errors.ts";

/** What a key may allow. */
export const SCOPES = ["submit", "read", "admin", "work"] as const;
export type Scope = (typeof SCOPES)[number];

/** A key as the server stores it: only its hash. */
export interface ApiKey {
  /** Name of its owner: the caller of tasks that are submitted with it. */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** SHA-256 of the key. Keys are random, so that no slower hash is needed. */
  readonly hash: Buffer;
}

/** The prefix of every API key, so that people and secret scanners recognise one. */
const PREFIX = "ph_";
/** A name must not be an API key pasted in the wrong place, since names are shown and logged. */
const NAME_FORM = /^(?!ph_)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** The form of a key's line, for error messages. */
export const KEY_FORM = "name:scope+scope:<sha256 hex of the key>";

/**
 * Reads `name:scope+scope:<sha256 hex>`.
 * @throws StartError that says what is wrong, without repeating what might be a pasted key
 */
export function parseApiKey(line: string): ApiKey {
  const parts = line.trim().split(":");
  const [name = "", scopeList = "", hex = ""] = parts;
  if (parts.length !== 3) throw new StartError("an API key has three parts, separated by colons");
  checkKeyName(name);
  if (!/^[0-9a-f]{64}$/i.test(hex)) {
    throw new StartError(`the key ${name} has no SHA-256 of 64 hexadecimal digits as its third part`);
  }
  return { name, scopes: parseScopes(scopeList, "+", name), hash: Buffer.from(hex, "hex") };
}

/** @throws StartError for an invalid name */
function checkKeyName(name: string): void {
  if (NAME_FORM.test(name)) return;
  throw new StartError(
    "the name of an API key has 1–64 characters of A–Z a–z 0–9 . _ -, the first a letter or digit, and no ph_ in front",
  );
}

/** Reads separated scopes. @throws StartError for an unknown scope */
export function parseScopes(list: string, separator: string, name: string): ReadonlySet<Scope> {
  const scopes = list.split(separator).map((word) => {
    const scope = SCOPES.find((known) => known === word.trim());
    if (!scope) throw new StartError(`the key ${name} has an unknown scope, expected some of ${SCOPES.join(", ")}`);
    return scope;
  });
  return new Set(scopes);
}

/** The line of a key for API_KEYS or the key file. */
export function formatApiKey({ name, scopes, hash }: ApiKey): string {
  return `${name}:${[...scopes].join("+")}:${hash.toString("hex")}`;
}

/** Makes a new key of 32 random bytes; the key itself is only in the returned value. */
export function makeKey(name: string, scopes: ReadonlySet<Scope>): { key: string; entry: ApiKey } {
  checkKeyName(name);
  const key = PREFIX + randomBytes(32).toString("base64url");
  return { key, entry: { name, scopes, hash: hashOf(key) } };
}

/** @throws StartError with the first name that occurs twice */
export function checkNamesUnique(keys: readonly ApiKey[]): void {
  const seen = new Set<string>();
  for (const { name } of keys) {
    if (seen.has(name)) throw new StartError(`two keys are named ${name}`);
    seen.add(name);
  }
}

/** The entry of a key. It is compared with all entries, each in constant time, so that the duration reveals nothing. */
export function findKey(entries: readonly ApiKey[], key: string): ApiKey | undefined {
  const hash = hashOf(key);
  let found: ApiKey | undefined;
  for (const entry of entries) if (timingSafeEqual(entry.hash, hash)) found = entry;
  return found;
}

function hashOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
