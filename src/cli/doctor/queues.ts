import type { Config } from "../../config/config.ts";
import { figuresOf } from "../../engine/queues.ts";
import { Tick } from "../../engine/upkeep/tick.ts";
import { PARTS } from "../../extras/extras.ts";
import { isInternalQueue } from "../../handler/internal-queues.ts";
import type { Connection } from "../../store/connection.ts";
import { Keys } from "../../store/keys.ts";
import { scriptsOf } from "../../store/library/scripts.ts";
import type { QueueRow } from "../../store/line/queue.ts";
import { type Finding, ok, warning } from "./finding.ts";

const CHECK = "queues";

/** Whether every queue in the store that holds tasks has a worker. */
export async function checkQueues(
  connection: Connection,
  config: Pick<Config, "keyPrefix" | "partitions" | "strictResultTtl">,
  handled: ReadonlySet<string>,
): Promise<Finding[]> {
  const keys = new Keys(config.keyPrefix, config.partitions);
  const scripts = scriptsOf(connection, { strictResultTtl: config.strictResultTtl, parts: PARTS });
  const registered = new Tick(scripts, keys, new Map());
  const names = await Promise.all(keys.tags.map((_, partition) => registered.queuesOf(partition)));
  const rows = await figuresOf(scripts, keys, names.flat().sort());
  const findings = rows.flatMap((row) => findingOf(row, handled));
  return findings.length > 0 ? findings : [ok(CHECK, `${rows.length}; every queue with tasks has a worker`)];
}

function findingOf({ snapshot, dead }: QueueRow, handled: ReadonlySet<string>): Finding[] {
  const { queue, waiting, scheduled, running, workers } = snapshot;
  if (workers > 0) return [];
  if (handled.has(queue) || isInternalQueue(queue)) {
    if (waiting === 0) return [];
    const text = `no live worker takes tasks from ${queue}, where ${waiting} wait`;
    return [warning(CHECK, text, "start one: paihao start, with ROLE=worker beside API processes")];
  }
  if (waiting + scheduled + running + dead === 0) return [];
  const tasks = Object.entries({ waiting, scheduled, running, dead }).flatMap(([state, n]) =>
    n > 0 ? `${n} ${state}` : [],
  );
  return [
    warning(
      CHECK,
      `${queue} is orphaned: neither a live worker nor HANDLERS here has a handler for it (${tasks.join(", ")})`,
      "start workers that have its handler; if it was removed for good, cancel its tasks",
    ),
  ];
}
