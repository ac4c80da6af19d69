import type { Redis } from "ioredis";
import { StartError } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";
import { nodesOf } from "../../../store/cluster-routing.ts";
import { type Connection, connect, isCluster, LARGE_VALUE_MS, mastersOf } from "../../../store/connection.ts";
import { DATA_VERSION, dataVersionProblemOf, RESTORING, readStoredVersion } from "../../../store/data-version.ts";
import { TASK_FIELDS } from "../../../store/fields.ts";
import { Keys, START } from "../../../store/keys.ts";
import { checkServer } from "../../../store/servers/check-server.ts";
import { scriptsOf } from "../../../store/verbs/scripts.ts";
import { packageVersion } from "../../../version.ts";
import { type VerifyReport, verify } from "../verify.ts";
import { type BackupCounts, type BackupPart, type CheckedBackup, checkBackup } from "./backup-file.ts";

/** What is restored, and where to. */
export interface RestoreRequest {
  readonly url: string;
  readonly prefix: string;
  /** The PARTITIONS of the servers that will run on it. */
  readonly partitions: number;
  readonly file: string;
  /** Delete existing data of the deployment; otherwise it must be empty. */
  readonly replace: boolean;
}

/** The outcome of a restore. */
export interface RestoreReport {
  readonly counts: BackupCounts;
  /** Keys of the backup whose time has passed since. */
  readonly expired: number;
  /** The check of the index after the restore, which has repaired what it found. */
  readonly check: VerifyReport;
}

/** How much is sent to the store at once. */
const BATCH = { parts: 1000, bytes: 1024 ** 2 } as const;

/**
 * Restores a backup over a connection of its own, after it has been read to its end. Until it has ended no server starts on the deployment;
 * after an interruption the next restore starts from the beginning.
 * @param onPart called for each part that is written
 * @throws StartError if the backup, the store or the deployment is not suitable; then nothing was changed
 */
export async function restoreStore(
  request: RestoreRequest,
  log: Logger,
  onPart: (part: BackupPart) => void,
): Promise<RestoreReport> {
  const backup = await checkBackup(request.file);
  checkFit(backup, request);
  const redis = await connect(request.url, "restore", log, { commandMs: LARGE_VALUE_MS });
  try {
    await checkServer(redis);
    const keys = new Keys(request.prefix, backup.header.partitions);
    await makeRoom(redis, keys, request.replace);
    const expired = await writeParts(redis, keys, backup, onPart);
    const check = await verify(redis, scriptsOf(redis), keys, { heal: true });
    const { data } = backup.header;
    await (data === "" ? redis.del(keys.dataVersion) : redis.set(keys.dataVersion, data));
    return { counts: backup.counts, expired, check };
  } finally {
    redis.disconnect();
  }
}

function checkFit({ header }: CheckedBackup, { file, prefix, partitions }: RestoreRequest): void {
  const release = packageVersion();
  const stored = readStoredVersion(header.data);
  const problem = header.data === "" ? undefined : dataVersionProblemOf(stored, DATA_VERSION, { prefix, release });
  if (problem !== undefined) throw new StartError(`${file}: once restored, ${problem}`);
  if (header.partitions !== partitions) {
    throw new StartError(
      `PARTITIONS is ${partitions}, but ${file} is of a deployment with ${header.partitions}; expected ${header.partitions}`,
    );
  }
}

/** @throws StartError if processes use the deployment, or it has data that must not be replaced */
async function makeRoom(redis: Connection, keys: Keys, replace: boolean): Promise<void> {
  const { prefix } = keys;
  if (await isInUse(redis, prefix)) {
    throw new StartError(`processes run with KEY_PREFIX ${prefix} on this store; stop them all, then restore`);
  }
  const unfinished = (await redis.get(keys.dataVersion)) === RESTORING;
  if (!replace && !unfinished && (await hasKeys(redis, prefix))) {
    throw new StartError(
      `the store has data with KEY_PREFIX ${prefix}; restore with another KEY_PREFIX, or delete the data with --replace`,
    );
  }
  // From now on no server starts on it.
  await redis.set(keys.dataVersion, RESTORING);
  for (const node of mastersOf(redis)) {
    for await (const found of pagesOf(node, prefix)) {
      const gone = found.filter((key) => key !== keys.dataVersion);
      // Keys of several slots may not be in one command.
      await Promise.all(gone.map((key) => node.unlink(key)));
    }
  }
}

/** Whether a process listens on the deployment's channels: each worker does, and each server with waiting callers. */
async function isInUse(redis: Connection, prefix: string): Promise<boolean> {
  const nodes = isCluster(redis) ? redis.nodes("all") : [redis];
  const pattern = `{${prefix}:*`;
  const listened = nodes.map(async (node) => {
    // In a cluster, messages stay within a shard since Redis 7; older servers do not know the command.
    const sharded = isCluster(redis) ? node.call("PUBSUB", "SHARDCHANNELS", pattern).catch(() => []) : [];
    const [all, ofShard] = await Promise.all([node.pubsub("CHANNELS", pattern), sharded]);
    return [...(all as unknown[]), ...(ofShard as unknown[])].length > 0;
  });
  return (await Promise.all(listened)).includes(true);
}

async function hasKeys(redis: Connection, prefix: string): Promise<boolean> {
  for (const node of mastersOf(redis))
    for await (const found of pagesOf(node, prefix)) if (found.length > 0) return true;
  return false;
}

async function* pagesOf(node: Redis, prefix: string): AsyncIterable<string[]> {
  for (let cursor = "0", first = true; first || cursor !== "0"; first = false) {
    const [next, found] = await node.scan(cursor, "MATCH", `{${prefix}:*`, "COUNT", 1000);
    cursor = next;
    yield found;
  }
}

/** Returns how many keys were left out because they have expired. */
async function writeParts(
  redis: Connection,
  keys: Keys,
  backup: CheckedBackup,
  onPart: (part: BackupPart) => void,
): Promise<number> {
  const [master] = mastersOf(redis);
  const nowMs = master === undefined ? Date.now() : Number((await master.time())[0]) * 1000;
  const nodes = nodesOf(redis);
  let waiting = new Map<number, BackupPart[]>();
  let [parts, bytes, expired] = [0, 0, 0];
  const flush = async () => {
    const all = [...waiting];
    waiting = new Map();
    [parts, bytes] = [0, 0];
    await Promise.all(
      all.map(([partition, some]) => nodes.run(keys.tag(partition), (node) => write(node, keys.tag(partition), some))),
    );
  };
  for await (const part of backup.parts()) {
    onPart(part);
    if (part.expiresMs > 0 && part.expiresMs <= nowMs) {
      if (part.from === 0) expired += 1;
      continue;
    }
    const some = waiting.get(part.partition);
    if (some) some.push(part);
    else waiting.set(part.partition, [part]);
    parts += 1;
    bytes += part.items.reduce((sum, { length }) => sum + length, 0);
    if (parts >= BATCH.parts || bytes >= BATCH.bytes) await flush();
  }
  await flush();
  return expired;
}

/** Writes parts in their order. Must be repeatable, since a connection sends unanswered commands again. */
async function write(node: Redis, tag: string, parts: readonly BackupPart[]): Promise<void> {
  let values = node.pipeline();
  const times = node.pipeline();
  for (const part of parts) {
    const key = tag + part.key;
    const [value = Buffer.alloc(0)] = part.items;
    // A task that was copied again, with its webhook or undo, may have less data than before.
    if (part.from === 0 && part.key.startsWith(START.task)) {
      const id = part.key.slice(START.task.length);
      values.unlink(...[START.input, START.result, START.steps, START.output].map((start) => tag + start + id));
    }
    if (part.type === "string") {
      if (part.from === 0) values.set(key, value);
      else values.setrange(key, part.from, value);
    } else {
      if (part.from === 0 && part.type !== "list") values.unlink(key);
      if (part.type === "hash") values.hset(key, ...part.items);
      if (part.type === "zset") values.zadd(key, ...scored(part.items));
      if (part.type === "list") {
        check(await values.exec());
        values = node.pipeline();
        // A repetition in part would add its values twice: a transaction is repeated as a whole, or fails.
        const before = part.from === 0 ? node.multi().unlink(key) : node.multi().ltrim(key, 0, part.from - 1);
        check(await before.rpush(key, ...part.items).exec());
      }
    }
    if (part.expiresMs > 0) times.pexpireat(key, part.expiresMs);
  }
  check(await values.exec());
  check(await times.exec());
  await expireFields(node, tag, parts);
}

/** A short result in the record of its task expires separately if the store supports that: see lua/result.lua. */
async function expireFields(node: Redis, tag: string, parts: readonly BackupPart[]): Promise<void> {
  const { result, result2, result3, result4, expires } = TASK_FIELDS;
  const fields = [result, result2, result3, result4].map(([short]) => short);
  const all = node.pipeline();
  for (const { key, type, items } of parts) {
    if (type !== "hash" || !key.startsWith(START.task)) continue;
    const names = items.map((item, n) => (n % 2 === 0 ? item.toString() : ""));
    const at = names.indexOf(expires[0]);
    if (at >= 0 && names.includes(result[0])) {
      all.call("HPEXPIREAT", tag + key, items[at + 1]?.toString() ?? "", "FIELDS", fields.length, ...fields);
    }
  }
  // An older store does not know the command.
  await all.exec();
}

function check(answers: [Error | null, unknown][] | null): void {
  for (const [error] of answers ?? []) if (error) throw error;
}

/** Scores before members, in the order of ZADD's arguments. */
const scored = (items: readonly Buffer[]): Buffer[] =>
  items.flatMap((member, n) => (n % 2 === 0 ? [items[n + 1] ?? Buffer.from("0"), member] : []));
