import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../shared/root.ts";
import { quickTests } from "../quick-tests.ts";
import { instrumented } from "./files.ts";
import { type Reaches, Tests } from "./tests.ts";

/** Where the tests of the store's Lua are. Those of the engine are the fastest, but some of the Lua is reached only by the others. */
const FOLDERS = [
  ...["test/engine", "test/store/verbs", "test/store/library", "test/workers", "test/webhooks"],
  ...["test/http/routes", "test/http/live"],
];
/** Replaces the tests of the model. */
const SHORT_MODEL = "test/mutants/lua/short-model.ts";
const LIMIT_MS = 900_000;
const CACHE = join(ROOT, ".cache/mutants");

/** The test files that mutants are tried on. */
export const testFiles = (): string[] => [...quickTests(FOLDERS), SHORT_MODEL];

/**
 * Which statements each test reaches: all tests are run once, on files in which each statement notes that it was reached. Known until a Lua
 * or a test file changes.
 */
export async function reachesOf(files: ReadonlyMap<string, string>): Promise<{
  reaches: Reaches;
  statements: ReadonlyMap<string, number>;
}> {
  const { sources, numbers } = instrumented(files);
  const digest = createHash("sha1");
  for (const source of files.values()) digest.update(source);
  const tests = testFiles();
  for (const file of tests) digest.update(readFileSync(join(ROOT, file)));
  const file = join(CACHE, `reaches-${digest.digest("hex").slice(0, 10)}.json`);
  if (existsSync(file)) return { reaches: JSON.parse(readFileSync(file, "utf8")), statements: numbers };

  process.stdout.write(`▸ running the tests of ${tests.length} files once, to see what they reach\n`);
  const all = new Tests(tests);
  const pairs = [...files].map(([name, source]) => [source, sources.get(name) ?? source] as const);
  const answer = await all.ask({ sources: pairs, tests: {}, record: true }, LIMIT_MS).finally(() => all.stop());
  if (!answer?.reaches) throw new Error("the tests did not end");
  for (const failed of answer.failed ?? []) process.stdout.write(`▸ left out, it failed without a mutant: ${failed}\n`);
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(file, JSON.stringify(answer.reaches));
  return { reaches: answer.reaches, statements: numbers };
}
