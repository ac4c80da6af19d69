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
  /** From then on it is refused, ms since the epoch; undefined for never. */
  readonly expiresMs?: number | undefined;
}

/** The prefix of every API key, so that people and secret scanners recognise one. */
const PREFIX = "ph_";
/** A name must not be an API key pasted in the wrong place, since names are shown and logged. */
const NAME_FORM = /^(?!ph_)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** The form of a key's line, for error messages. */
export const KEY_FORM = "name:scope+scope:<sha256 hex of the key>, perhaps :20270301T120000Z, when it expires";
/** A time without colons: UTC, to the second. */
const EXPIRY_FORM = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/**
 * Reads `name:scope+scope:<sha256 hex>`, perhaps with `:<when it expires>`.
 * @throws StartError that says what is wrong, without repeating what might be a pasted key
 */
export function parseApiKey(line: string): ApiKey {
  const parts = line.trim().split(":");
  const [name = "", scopeList = "", hex = "", expiry] = parts;
  if (parts.length < 3 || parts.length > 4) throw new StartError("an API key has three parts, separated by colons");
  checkKeyName(name);
  if (!/^[0-9a-f]{64}$/i.test(hex)) {
    throw new StartError(`the key ${name} has no SHA-256 of 64 hexadecimal digits as its third part`);
  }
  const entry = { name, scopes: parseScopes(scopeList, "+", name), hash: Buffer.from(hex, "hex") };
  return expiry === undefined ? entry : { ...entry, expiresMs: parseExpiry(expiry, name) };
}

/** @throws StartError if it is not a time */
function parseExpiry(text: string, name: string): number {
  const ms = Date.parse(text.replace(EXPIRY_FORM, "$1-$2-$3T$4:$5:$6Z"));
  if (!EXPIRY_FORM.test(text) || Number.isNaN(ms))
    throw new StartError(`the key ${name} has no time such as 20270301T120000Z as its fourth part`);
  return ms;
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
export function formatApiKey({ name, scopes, hash, expiresMs }: ApiKey): string {
  const end = expiresMs === undefined ? "" : `:${new Date(expiresMs).toISOString().replace(/[-:]|\.\d+/g, "")}`;
  return `${name}:${[...scopes].join("+")}:${hash.toString("hex")}${end}`;
}

/** Makes a new key of 32 random bytes; the key itself is only in the returned value. */
export function makeKey(name: string, scopes: ReadonlySet<Scope>, expiresMs?: number): { key: string; entry: ApiKey } {
  checkKeyName(name);
  const key = PREFIX + randomBytes(32).toString("base64url");
  return { key, entry: { name, scopes, hash: hashOf(key), ...(expiresMs !== undefined && { expiresMs }) } };
}

/** Whether a key is no longer accepted. */
export const isExpired = ({ expiresMs }: ApiKey, nowMs = Date.now()): boolean =>
  expiresMs !== undefined && expiresMs <= nowMs;

/** What a log may tell of a key that was sent and is not accepted: the first letters of its hash, as its line in a file of keys has it. */
export const hashBeginning = (key: string): string => hashOf(key).toString("hex").slice(0, 8);

/** What tells a key from all others, also from an earlier one of its name: the name, and the beginning of its hash. */
export const identityOf = ({ name, hash }: ApiKey): string => `${name} ${hash.toString("hex").slice(0, 8)}`;

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
