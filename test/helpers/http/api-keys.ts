import { formatApiKey, makeKey, type Scope } from "../../../src/auth/api-key.ts";

/** The API keys of a test. */
export interface TestKeys<Name extends string> {
  /** For API_KEYS, or with line breaks a file. */
  readonly lines: readonly string[];
  readonly env: { readonly API_KEYS: string };
  /** The header with the key, and others if given. */
  as(name: Name, headers?: Readonly<Record<string, string>>): Record<string, string>;
}

/** Makes a key for each name, with its scopes. */
export function testKeys<Name extends string>(scopes: Readonly<Record<Name, readonly Scope[]>>): TestKeys<Name> {
  const names = Object.keys(scopes) as Name[];
  const made = new Map(names.map((name) => [name, makeKey(name, new Set(scopes[name]))]));
  const lines = [...made.values()].map(({ entry }) => formatApiKey(entry));
  return {
    lines,
    env: { API_KEYS: lines.join(",") },
    as: (name, headers = {}) => ({ Authorization: `Bearer ${made.get(name)?.key}`, ...headers }),
  };
}
