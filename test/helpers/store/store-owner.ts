/** A process that owns a store, for tests that kill it: `store-owner.ts KIND DIR` prints the store's URL when it answers. */
import { STORES } from "../../../src/config/variables.ts";
import { createLog } from "../../../src/log.ts";
import { provisionStore } from "../../../src/store/servers/provision.ts";

const kind = STORES.find((name) => name === process.argv[2]);
const store = await provisionStore(
  { redisUrl: undefined, store: kind, dataDir: process.argv[3] ?? "" },
  createLog("silent"),
);
process.stdout.write(`${store.url}\n`);
