import { existsSync } from "node:fs";
import { Command } from "commander";
import { type ApiKey, formatApiKey, makeKey, parseScopes, SCOPES } from "../auth/api-key.ts";
import { appendKey, readKeyFile, revokeKey } from "../auth/key-file.ts";
import { readKeySources } from "../config/config.ts";
import { messageOf, StartError } from "../errors.ts";

interface FileOptions {
  readonly file?: string;
}

/** `paihao keys`: makes, revokes and lists API keys. Data goes to stdout, hints for a person to stderr. */
export function keysCommand(): Command {
  const keys = new Command("keys").description("manage API keys; the server stores only their hashes");
  const file = ["--file <file>", "file of keys (API_KEYS_FILE)"] as const;
  keys
    .command("create <name>")
    .description("create a key and print it, only this once, with its line for API_KEYS or the key file")
    .requiredOption("--scopes <scopes>", `what the key may do, separated by commas: ${SCOPES.join(", ")}`)
    .option(...file)
    .option("--json", "print JSON, for scripts")
    .action(create);
  keys
    .command("revoke <name>")
    .description("remove a key from the file; running servers notice within a second")
    .option(...file)
    .action(revoke);
  keys
    .command("ls")
    .description("list the names and scopes of all keys")
    .option(...file)
    .option("--json", "print JSON, for scripts")
    .action(list);
  return keys;
}

function create(name: string, options: FileOptions & { scopes: string; json?: boolean }): void {
  const { apiKeys, file } = sources(options);
  const { key, entry } = makeKey(name, parseScopes(options.scopes, ",", name));
  if (apiKeys.some((known) => known.name === name)) {
    throw new StartError(`API_KEYS has a key named ${name} already: choose another name`);
  }
  if (file !== undefined) withFile(file, () => appendKey(file, entry));
  const line = formatApiKey(entry);
  if (options.json) {
    print(JSON.stringify({ name, scopes: [...entry.scopes], key, line, file: file ?? null }));
    return;
  }
  print(key);
  print(line);
  console.error("The first line is the key, shown only now; the second is what the server stores.");
  console.error(
    file === undefined
      ? "Put the second line into API_KEYS or API_KEYS_FILE."
      : `The second line has been added to ${file}.`,
  );
}

function revoke(name: string, options: FileOptions): void {
  const { apiKeys, file } = sources(options);
  if (file !== undefined && withFile(file, () => revokeKey(file, name))) {
    console.error(`${name} is revoked in ${file}; running servers notice within a second.`);
    return;
  }
  if (apiKeys.some((known) => known.name === name)) {
    throw new StartError(`${name} is in API_KEYS: remove it there and restart the server`);
  }
  throw new StartError(
    file === undefined
      ? "expected --file, or API_KEYS_FILE: which file is the key in?"
      : `${file} has no key named ${name}`,
  );
}

function list(options: FileOptions & { json?: boolean }): void {
  const { apiKeys, file } = sources(options);
  const { keys, faults } = file === undefined ? { keys: [], faults: [] } : withFile(file, () => readKeyFile(file));
  const rows = [...apiKeys.map((key) => row(key, "API_KEYS")), ...keys.map((key) => row(key, String(file)))];
  if (options.json) {
    print(JSON.stringify(rows));
  } else {
    const width = Math.max(0, ...rows.map(({ name }) => name.length));
    for (const { name, scopes, from } of rows) print(`${name.padEnd(width)}  ${scopes.join("+")}  ${from}`);
  }
  for (const fault of faults) console.error(`paihao: ${file}, ${fault}`);
}

function row({ name, scopes }: ApiKey, from: string) {
  return { name, scopes: [...scopes], from };
}

/** The keys in the environment, as `paihao start` would read it in this directory, and the key file. */
function sources({ file }: FileOptions): { apiKeys: readonly ApiKey[]; file: string | undefined } {
  if (existsSync(".env")) process.loadEnvFile(".env");
  const { apiKeys, apiKeysFile } = readKeySources();
  return { apiKeys, file: file ?? apiKeysFile };
}

/** @throws StartError in place of errors of the file system */
function withFile<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${file}: ${messageOf(error)}`, { cause: error });
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
