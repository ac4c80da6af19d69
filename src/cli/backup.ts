import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { type Config, readConfig } from "../config/config.ts";
import { secretsOf } from "../config/secrets.ts";
import { backupStore } from "../engine/maintenance/backup/backup.ts";
import type { BackupPart } from "../engine/maintenance/backup/backup-file.ts";
import { restoreStore } from "../engine/maintenance/backup/restore.ts";
import { ProblemError, reasonOf, StartError } from "../errors.ts";
import { createLog, type Logger } from "../log.ts";
import { attachStore, type ProvisionedStore, provisionStore } from "../store/servers/provision.ts";
import { LiveLine } from "./terminal/live-line.ts";
import { note, print, printJsonLine } from "./terminal/print.ts";

/** How often the progress line is written, ms. */
const SHOW_MS = 200;

/**
 * `paihao backup`: writes everything of the deployment to a file.
 * @throws StartError if the store cannot be used, or the file cannot be written
 */
export async function backup(file: string, { json = false }: { json?: boolean }): Promise<void> {
  await onStore(async ({ url, config, log, onPart }) => {
    const { keys, tasks } = await backupStore({ url, prefix: config.keyPrefix, file }, log, onPart);
    if (file === "-") note(`${tasks} tasks, ${keys} keys`);
    else if (json) printJsonLine({ file, keys, tasks });
    else print(`${file}: ${tasks} tasks, ${keys} keys`);
  }, attachStore);
}

/**
 * `paihao restore`: puts a backup into the store and checks its index, which repairs what tasks that changed during the backup left behind.
 * @throws StartError if the backup or the store cannot be used
 */
export async function restore(
  file: string,
  { replace = false, json = false }: { replace?: boolean; json?: boolean },
): Promise<void> {
  if (file === "-") return await withStdin((copied) => restore(copied, { replace, json }));
  await onStore(async ({ url, kind, config, log, onPart }) => {
    if (kind === "embedded") {
      throw new StartError(
        "the embedded store keeps its data in memory only, and ends with this command; install redis-server, or set REDIS_URL",
      );
    }
    const { keyPrefix: prefix, partitions } = config;
    const { counts, expired, check } = await restoreStore({ url, prefix, partitions, file, replace }, log, onPart);
    const { tasks, entries, disagreeing } = check;
    if (json) return printJsonLine({ file, ...counts, expired, check: { tasks, entries, healed: disagreeing } });
    print(`${file}: ${counts.tasks} tasks, ${counts.keys} keys; ${expired} of them have expired since`);
    const healed = disagreeing.length === 0 ? "everything agrees" : `${disagreeing.length} disagreed and were healed`;
    print(`${tasks} tasks and ${entries} index entries: ${healed}`);
  });
}

/** A backup is read twice, so standard input is first written to a file that only this user can read. */
async function withStdin(run: (file: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), "paihao-restore-"));
  try {
    const file = path.join(dir, "stdin");
    await pipeline(process.stdin, createWriteStream(file, { mode: 0o600 }));
    await run(file);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

interface OnStore extends Pick<ProvisionedStore, "url" | "kind"> {
  readonly config: Config;
  readonly log: Logger;
  readonly onPart: (part: BackupPart) => void;
}

/** Runs a command on the store of the settings; on a terminal a line shows its progress. */
async function onStore(run: (on: OnStore) => Promise<void>, open = provisionStore): Promise<void> {
  const config = readConfig();
  const log = createLog("error", { secrets: secretsOf(config) });
  const store = await open(config, log);
  const line = process.stderr.isTTY ? new LiveLine(process.stderr) : undefined;
  let [parts, shownAt] = [0, 0];
  const onPart = () => {
    parts += 1;
    if (line === undefined || performance.now() < shownAt + SHOW_MS) return;
    shownAt = performance.now();
    line.show(`${parts} keys`);
  };
  try {
    note(store.description);
    await run({ url: store.url, kind: store.kind, config, log, onPart });
  } catch (error) {
    if (error instanceof ProblemError) throw new StartError(reasonOf(error), { cause: error });
    throw error;
  } finally {
    line?.clear();
    await store.stop();
  }
}
