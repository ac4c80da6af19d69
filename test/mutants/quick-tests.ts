import { join } from "node:path";
import { filesIn } from "../../scripts/files.ts";
import { ROOT } from "../shared/root.ts";

/** Left out, by the beginnings of paths: tests that take long and alone reach little, or that stop and start servers. */
const LEFT_OUT = [
  "test/engine/durability",
  "test/engine/model/",
  "test/engine/maintenance/backup",
  "test/engine/maintenance/clock-jumps",
  "test/engine/maintenance/verify-load",
  "test/engine/opening/access",
  "test/store/servers",
  "test/workers/clock",
  "test/workers/exclusive",
  "test/workers/frozen-store",
  "test/workers/idle",
  "test/workers/large-inputs",
  "test/workers/outage",
  "test/workers/processes",
  "test/workers/sandbox",
  "test/workers/stuck",
  "test/workers/undo/processes",
  "test/http/live/event",
  "test/http/routes/queues/orphans",
  "test/http/routes/service",
  "test/http/task/large-results",
  "test/webhooks/server",
];

/** The test files of some files and folders that mutants are tried on. */
export function quickTests(paths: readonly string[]): string[] {
  const all = paths.flatMap((path) =>
    path.endsWith(".ts") ? [path] : filesIn(join(ROOT, path)).map((file) => `${path}/${file}`),
  );
  return all.filter(
    (file) => file.endsWith(".test.ts") && (paths.includes(file) || !LEFT_OUT.some((start) => file.startsWith(start))),
  );
}
