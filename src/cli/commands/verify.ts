import type { Command } from "commander";
import { command } from "../command.ts";
import { note, print, printJsonLine } from "../terminal/print.ts";

/** Maximum number of ids that are printed without --json. */
const NAMED = 20;

/** `paihao verify`: the index of the store. */
export function verifyCommand(): Command {
  return command("verify", "check all tasks in the store against the index", [
    "paihao verify",
    "REDIS_URL=redis://localhost:6379 paihao verify --heal",
  ])
    .option("--heal", "repair what disagrees")
    .option("--json", "print JSON")
    .action(async (options: { heal?: boolean; json?: boolean }) => {
      process.exitCode = await verify(options);
    });
}

/**
 * Checks every task in the store against the indexes of its queue, and repairs inconsistencies with `--heal`.
 * @returns the exit code: 0 if everything is consistent or was healed, else 1
 * @throws StartError if the store cannot be used
 */
async function verify({ heal = false, json = false }: { heal?: boolean; json?: boolean }): Promise<0 | 1> {
  // Imported here, since the other commands start faster without them.
  const [{ readConfig, secretsOf }, { verifyStore }, { createLog }, { attachStore }, { PARTS }] = await Promise.all([
    import("../../config/config.ts"),
    import("../../engine/upkeep/verify.ts"),
    import("../../log.ts"),
    import("../../store/servers/provision.ts"),
    import("../../extras/extras.ts"),
  ]);
  const config = readConfig();
  const log = createLog("error", { secrets: secretsOf(config) });
  const store = await attachStore(config, log);
  try {
    note(store.description);
    const { tasks, entries, disagreeing } = await verifyStore(store.url, config.keyPrefix, { heal, parts: PARTS }, log);
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
