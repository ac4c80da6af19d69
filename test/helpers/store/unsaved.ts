import { mkdirSync, rmdirSync } from "node:fs";
import path from "node:path";
import type { Redis } from "ioredis";
import { eventually } from "../../shared/eventually.ts";

/**
 * Makes a Redis fail to save, as on a full disk: it then refuses writes (MISCONF). Its snapshot has the path of a directory, which no
 * user can overwrite. Returns a function that makes it save again.
 */
export async function keepFromSaving(admin: Redis, dir: string): Promise<() => Promise<void>> {
  const inTheWay = path.join(dir, "dump.rdb");
  const save = async (status: "ok" | "err") => {
    await admin.bgsave();
    await eventually(async () => (await admin.info("persistence")).includes(`rdb_last_bgsave_status:${status}`));
  };
  await admin.config("SET", "save", "3600 1000000");
  mkdirSync(inTheWay);
  await save("err");
  return async () => {
    rmdirSync(inTheWay);
    await save("ok");
    await admin.config("SET", "save", "");
  };
}
