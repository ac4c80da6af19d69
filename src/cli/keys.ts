import { type ApiKey, formatApiKey, makeKey, parseScopes } from "../auth/api-key.ts";
import { appendKey, readKeyFile, revokeKey } from "../auth/key-file.ts";
import { readKeySources } from "../config/config.ts";
import { messageOf, StartError } from "../errors.ts";
import { CommandError, EXIT, wrongUsage } from "./exit.ts";
import { note, print, printJsonLine } from "./terminal/print.ts";

interface FileOptions {
  readonly file?: string;
}

/** `paihao keys create`: data goes to stdout, hints for a person to stderr. */
export function create(name: string, options: FileOptions & { scopes: string; json?: boolean }): void {
  const { apiKeys, file } = sources(options);
  const { key, entry } = made(name, options.scopes);
  if (apiKeys.some((known) => known.name === name)) {
    throw new CommandError(EXIT.refused, `API_KEYS has a key named ${name} already: choose another name`);
  }
  if (file !== undefined) withFile(file, () => appendKey(file, entry));
  const line = formatApiKey(entry);
  if (options.json) {
    printJsonLine({ name, scopes: [...entry.scopes], key, line, file: file ?? null });
    return;
  }
  print(key);
  print(line);
  note("The first line is the key, shown only now; the second is what the server stores.");
  note(
    file === undefined
      ? "Put the second line into API_KEYS or API_KEYS_FILE."
      : `The second line has been added to ${file}.`,
  );
}

/** `paihao keys revoke`. */
export function revoke(name: string, options: FileOptions): void {
  const { apiKeys, file } = sources(options);
  if (file !== undefined && withFile(file, () => revokeKey(file, name))) {
    note(`${name} is revoked in ${file}; running servers notice within a second.`);
    return;
  }
  if (apiKeys.some((known) => known.name === name)) {
    throw new CommandError(EXIT.refused, `${name} is in API_KEYS: remove it there and restart the server`);
  }
  if (file === undefined) throw wrongUsage("expected --file, or API_KEYS_FILE: which file is the key in?");
  throw new CommandError(EXIT.gone, `${file} has no key named ${name}`);
}

/** `paihao keys ls`. */
export function list(options: FileOptions & { json?: boolean }): void {
  const { apiKeys, file } = sources(options);
  const { keys, faults } = file === undefined ? { keys: [], faults: [] } : withFile(file, () => readKeyFile(file));
  const rows = [...apiKeys.map((key) => row(key, "API_KEYS")), ...keys.map((key) => row(key, String(file)))];
  if (options.json) {
    printJsonLine(rows);
  } else {
    const width = Math.max(0, ...rows.map(({ name }) => name.length));
    for (const { name, scopes, from } of rows) print(`${name.padEnd(width)}  ${scopes.join("+")}  ${from}`);
  }
  for (const fault of faults) note(`paihao: ${file}, ${fault}`);
}

/** @throws CommandError for an invalid name or scope */
function made(name: string, scopes: string): ReturnType<typeof makeKey> {
  try {
    return makeKey(name, parseScopes(scopes, ",", name));
  } catch (error) {
    throw error instanceof StartError ? wrongUsage(error.message) : error;
  }
}

function row({ name, scopes }: ApiKey, from: string) {
  return { name, scopes: [...scopes], from };
}

/** The keys in the environment, as `paihao start` would read it in this directory, and the key file. */
function sources({ file }: FileOptions): { apiKeys: readonly ApiKey[]; file: string | undefined } {
  const { apiKeys, apiKeysFile } = readKeySources();
  return { apiKeys, file: file ?? apiKeysFile };
}

/** @throws CommandError in place of errors of the file and its system */
function withFile<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    // The name is taken.
    if (error instanceof StartError) throw new CommandError(EXIT.refused, error.message);
    throw new CommandError(EXIT.failed, `${file}: ${messageOf(error)}`, { cause: error });
  }
}
