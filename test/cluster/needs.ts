import { createLog } from "../../src/log.ts";
import { findServerBinary } from "../../src/store/servers/native/server-binary.ts";

/** Skips what needs servers of its own, where there is no redis-server to start (with valkey-server the tests would differ). */
export async function needsRedisServer(context: Mocha.Context): Promise<void> {
  const { binary } = await findServerBinary(createLog("silent"));
  if (binary?.name === "redis-server") return;
  process.stdout.write("    there is no redis-server on PATH: no cluster can be started\n");
  context.skip();
}
