/**
 * `npm run redis -- [--dir DIR]`: runs a Redis for a developer in the foreground and keeps its data in DIR. It prints the URL
 * for REDIS_URL; Ctrl-C stops it.
 */
import { once } from "node:events";
import { parseArgs } from "node:util";
import { StartError } from "../src/errors.ts";
import { createLog } from "../src/log.ts";
import { startNativeStore } from "../src/store/servers/native/native.ts";
import { findServerBinary } from "../src/store/servers/native/server-binary.ts";

const { values } = parseArgs({
  options: { dir: { type: "string", default: ".paihao/redis" } },
});

try {
  const log = createLog("info");
  const stopping = new AbortController();
  const { signal } = stopping;
  // A second Ctrl-C has no effect: the first one waits until everything is written.
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stopping.abort());
  const { binary } = await findServerBinary(log);
  if (binary === undefined) throw new StartError("there is no redis-server or valkey-server on PATH");
  const store = await startNativeStore({ binary, dataDir: values.dir, log, signal });
  console.log(`${store.description}\nREDIS_URL=${store.url}`);
  if (!signal.aborted) await once(signal, "abort");
  await store.stop();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
