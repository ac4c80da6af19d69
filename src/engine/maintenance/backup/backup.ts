import { StartError } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";
import { connect } from "../../../store/connection.ts";
import { Keys } from "../../../store/keys.ts";
import { checkServer } from "../../../store/servers/check-server.ts";
import { scriptsOf } from "../../../store/verbs/scripts.ts";
import { packageVersion } from "../../../version.ts";
import { dataVersionProblem } from "../../opening/data-version.ts";
import { type BackupCounts, type BackupPart, FORMAT, writeBackup } from "./backup-file.ts";
import { copyStore } from "./copy-store.ts";

/**
 * Writes everything of one deployment to a file, over a connection of its own; servers may run meanwhile.
 * @param onPart called for each part that is written
 * @throws StartError if the store is unsuitable or empty, or the file cannot be written
 */
export async function backupStore(
  { url, prefix, file }: { readonly url: string; readonly prefix: string; readonly file: string },
  log: Logger,
  onPart: (part: BackupPart) => void,
): Promise<BackupCounts> {
  const redis = await connect(url, "backup", log);
  try {
    const { version } = await checkServer(redis);
    const first = new Keys(prefix, 1);
    const partitions = await redis.get(first.claim);
    if (partitions === null) {
      throw new StartError(
        `the store holds nothing of a server with KEY_PREFIX ${prefix}; check KEY_PREFIX and REDIS_URL`,
      );
    }
    const problem = await dataVersionProblem(redis, first);
    if (problem !== undefined) throw new StartError(problem);
    const keys = new Keys(prefix, Number(partitions));
    const scripts = scriptsOf(redis);
    const header = {
      format: FORMAT,
      ...{ release: packageVersion(), prefix, partitions: keys.partitions },
      ...{ data: (await redis.get(first.dataVersion)) ?? "", at: Date.now(), store: version },
    } as const;
    async function* told() {
      for await (const part of copyStore(redis, scripts, keys)) {
        onPart(part);
        yield part;
      }
    }
    return await writeBackup(file, header, told());
  } finally {
    redis.disconnect();
  }
}
