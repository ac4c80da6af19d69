import { readConfig } from "../config/config.ts";
import { secretsOf } from "../config/secrets.ts";
import { verifyStore } from "../engine/maintenance/verify.ts";
import { createLog } from "../log.ts";
import { attachStore } from "../store/servers/provision.ts";
import { note, print, printJsonLine } from "./terminal/print.ts";

/** Maximum number of ids that are printed without --json. */
const NAMED = 20;

/**
 * `paihao verify`: checks every task in the store against the indexes of its queue, and repairs inconsistencies with `--heal`.
 * @returns the exit code: 0 if everything is consistent or was healed, else 1
 * @throws StartError if the store cannot be used
 */
export async function verify({ heal = false, json = false }: { heal?: boolean; json?: boolean }): Promise<0 | 1> {
  const config = readConfig();
  const log = createLog("error", { secrets: secretsOf(config) });
  const store = await attachStore(config, log);
  try {
    note(store.description);
    const { tasks, entries, disagreeing } = await verifyStore(store.url, config.keyPrefix, { heal }, log);
    if (json) printJsonLine({ tasks, entries, disagreeing, healed: heal });
    else for (const line of inWords({ tasks, entries, disagreeing, heal })) print(line);
    return disagreeing.length === 0 || heal ? 0 : 1;
  } finally {
    await store.stop();
  }
}

function inWords(found: { tasks: number; entries: number; disagreeing: readonly string[]; heal: boolean }): string[] {
  const { tasks, entries, disagreeing, heal } = found;
  const looked = `${tasks} tasks and ${entries} index entries`;
  if (disagreeing.length === 0) return [`${looked}: everything agrees`];
  const named = disagreeing.slice(0, NAMED).map((id) => `  ${id}`);
  const more = disagreeing.length - named.length;
  if (more > 0) named.push(`  and ${more} more`);
  const end = heal ? "healed" : "run again with --heal to repair them";
  return [`${looked}: ${disagreeing.length} disagree; ${end}`, ...named];
}
