import type { Command } from "commander";
import { type ApiKey, formatApiKey, makeKey, parseScopes, SCOPES } from "../../auth/api-key.ts";
import { appendKey, readKeyFile, revokeKey } from "../../auth/key-file.ts";
import { messageOf, StartError } from "../../errors.ts";
import { command } from "../command.ts";
import { CommandError, EXIT, wrongUsage } from "../exit.ts";
import { note, print, printJsonLine } from "../terminal/print.ts";

const FILE = ["--file <file>", "file of keys (API_KEYS_FILE)"] as const;

/** `paihao keys`: API keys. */
export function keysCommand(): Command {
  return command("keys", "create, revoke and list API keys", [
    "paihao keys create ci --scopes submit,read --file keys",
    "paihao keys ls --file keys",
  ])
    .addCommand(createCommand())
    .addCommand(revokeCommand())
    .addCommand(listCommand());
}

function createCommand(): Command {
  return command("create <name>", "create a key and print it, this once only, with the line that the server stores", [
    "paihao keys create ci --scopes submit,read --file keys",
    "paihao keys create ops --scopes admin --json",
  ])
    .requiredOption("--scopes <scopes>", `what the key may do, separated by commas: ${SCOPES.join(", ")}`)
    .option(...FILE)
    .option("--json", "print JSON")
    .action(async (name: string, options: { scopes: string; file?: string; json?: boolean }) => {
      await create(name, options);
    });
}

function revokeCommand(): Command {
  return command("revoke <name>", "remove a key from its file; running servers notice within a second", [
    "paihao keys revoke old --file keys",
  ])
    .option(...FILE)
    .action(async (name: string, options: { file?: string }) => {
      await revoke(name, options);
    });
}

function listCommand(): Command {
  return command("ls", "list the names and scopes of all keys", ["paihao keys ls", "paihao keys ls --file keys"])
    .option(...FILE)
    .option("--json", "print JSON")
    .action(async (options: { file?: string; json?: boolean }) => {
      await list(options);
    });
}

interface FileOptions {
  readonly file?: string;
}

/** `paihao keys create`: data goes to stdout, hints for a person to stderr. */
async function create(name: string, options: FileOptions & { scopes: string; json?: boolean }): Promise<void> {
  const { apiKeys, file } = await sources(options);
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
async function revoke(name: string, options: FileOptions): Promise<void> {
  const { apiKeys, file } = await sources(options);
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
async function list(options: FileOptions & { json?: boolean }): Promise<void> {
  const { apiKeys, file } = await sources(options);
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
async function sources({ file }: FileOptions): Promise<{ apiKeys: readonly ApiKey[]; file: string | undefined }> {
  // Imported here, since the other commands start faster without it.
  const { readKeySources } = await import("../../config/config.ts");
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
