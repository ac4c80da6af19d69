import { rmSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import { type ApiKey, formatApiKey, makeKey, parseScopes, SCOPES } from "../../auth/api-key.ts";
import { appendKey, readKeyFile, revokeKey } from "../../auth/key-file.ts";
import { PaihaoError } from "../../client/problem.ts";
import { messageOf, StartError } from "../../errors.ts";
import type { ApiKeys } from "../../wire/operations.ts";
import { readDuration } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand, command } from "../command.ts";
import { CommandError, EXIT, wrongUsage } from "../exit.ts";
import { ask, connectionTo, type ServerOptions } from "../server.ts";
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
    "paihao keys create shop --scopes submit --expires 90d --out shop.key",
  ])
    .requiredOption("--scopes <scopes>", `what the key may do, separated by commas: ${SCOPES.join(", ")}`)
    .option("--expires <time>", "after this it is refused, e.g. 90d (default: never)", readDuration)
    .option("--out <file>", "write the key to a new file that only you can read, and do not print it")
    .option(...FILE)
    .option("--json", "print JSON")
    .action(async (name: string, options: CreateOptions) => {
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
  const summary = "list all keys; with a key of scope admin, also when the server says that each was last used";
  return clientCommand("ls", summary, ["paihao keys ls", "paihao keys ls --file keys"])
    .option(...FILE)
    .action(clientAction(list));
}

interface FileOptions {
  readonly file?: string;
}

interface CreateOptions extends FileOptions {
  readonly scopes: string;
  /** In so many ms. */
  readonly expires?: number;
  readonly out?: string;
  readonly json?: boolean;
}

/** `paihao keys create`: data goes to stdout, hints for a person to stderr. */
async function create(name: string, options: CreateOptions): Promise<void> {
  const { apiKeys, file } = await sources(options);
  const { expires, out } = options;
  const { key, entry } = made(name, options.scopes, expires === undefined ? undefined : Date.now() + expires);
  if (apiKeys.some((known) => known.name === name)) {
    throw new CommandError(EXIT.refused, `API_KEYS has a key named ${name} already: choose another name`);
  }
  // The key first: a line without its key would be of no use.
  if (out !== undefined) withFile(out, () => writeFileSync(out, `${key}\n`, { mode: 0o600, flag: "wx" }));
  try {
    if (file !== undefined) withFile(file, () => appendKey(file, entry));
  } catch (error) {
    if (out !== undefined) rmSync(out);
    throw error;
  }
  const line = formatApiKey(entry);
  const expiresAt = entry.expiresMs === undefined ? null : new Date(entry.expiresMs).toISOString();
  if (options.json) {
    const shown = out === undefined ? { key } : { out };
    printJsonLine({ name, scopes: [...entry.scopes], ...shown, line, file: file ?? null, expiresAt });
    return;
  }
  if (out === undefined) print(key);
  print(line);
  note(
    out === undefined
      ? "The first line is the key, shown only now; the second is what the server stores."
      : `The key is in ${out}, which only you can read; the line is what the server stores.`,
  );
  note(file === undefined ? "Put that line into API_KEYS or API_KEYS_FILE." : `That line has been added to ${file}.`);
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

/** `paihao keys ls`: the keys of the environment and the file, then those that only the server has. */
async function list(options: FileOptions & ClientOptions): Promise<undefined> {
  const { apiKeys, file } = await sources(options);
  const { keys, faults } = file === undefined ? { keys: [], faults: [] } : withFile(file, () => readKeyFile(file));
  const served = new Map((await keysOfServer(options)).map((key) => [key.name, key]));
  const here = [...apiKeys.map((key) => row(key, "API_KEYS")), ...keys.map((key) => row(key, String(file)))];
  const names = new Set(here.map(({ name }) => name));
  const rows: Row[] = here.map((own) => ({ ...own, ...lastUse(served.get(own.name)) }));
  for (const key of served.values()) {
    const { name, scopes, expiresAt } = key;
    if (!names.has(name))
      rows.push({ name, scopes, from: options.url, ...(expiresAt !== null && { expiresAt }), ...lastUse(key) });
  }
  if (options.json) {
    printJsonLine(rows);
  } else {
    const width = Math.max(0, ...rows.map(({ name }) => name.length));
    for (const { name, scopes, from, expiresAt, lastUsedAt } of rows) {
      const texts = [
        ...[name.padEnd(width), scopes.join("+"), from, expiresAt !== undefined && endText(expiresAt)],
        lastUsedAt !== undefined && useText(lastUsedAt),
      ];
      print(texts.filter((text) => text !== false).join("  "));
    }
  }
  for (const fault of faults) note(`paihao: ${file}, ${fault}`);
  return undefined;
}

/** The keys of the server; none without a key to ask it with, or if it does not tell. */
async function keysOfServer(options: ServerOptions): Promise<ApiKeys["items"]> {
  if (!options.key) return [];
  try {
    return (await ask<ApiKeys>(connectionTo(options), "/v1/keys")).items;
  } catch (error) {
    if (!(error instanceof PaihaoError)) throw error;
    note(`paihao: when keys were last used is not shown: ${error.message}`);
    return [];
  }
}

/** A key in the list. */
interface Row {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly from: string;
  readonly expiresAt?: string;
  /** Null: never; undefined: unknown. */
  readonly lastUsedAt?: string | null;
}

const lastUse = (key: ApiKeys["items"][number] | undefined): Pick<Row, "lastUsedAt"> =>
  key === undefined ? {} : { lastUsedAt: key.lastUsedAt };

/** To the hour, as the server tells it. */
const useText = (lastUsedAt: string | null): string =>
  lastUsedAt === null ? "never used" : `last used ${lastUsedAt.slice(0, 16).replace("T", " ")} UTC`;

const endText = (expiresAt: string): string =>
  `${Date.parse(expiresAt) <= Date.now() ? "expired" : "expires"} ${expiresAt.slice(0, 10)}`;

/** @throws CommandError for an invalid name or scope */
function made(name: string, scopes: string, expiresMs: number | undefined): ReturnType<typeof makeKey> {
  try {
    return makeKey(name, parseScopes(scopes, ",", name), expiresMs);
  } catch (error) {
    throw error instanceof StartError ? wrongUsage(error.message) : error;
  }
}

function row({ name, scopes, expiresMs }: ApiKey, from: string): Row {
  const expiry = expiresMs === undefined ? {} : { expiresAt: new Date(expiresMs).toISOString() };
  return { name, scopes: [...scopes], from, ...expiry };
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
