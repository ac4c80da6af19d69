/**
 * A process that loads all tests once and then runs those that it is asked for, each time with other Lua: it replaces the library that the
 * product loads into Redis. See tests.ts, which starts it.
 */
import { relative } from "node:path";
import { Redis } from "ioredis";
import Mocha from "mocha";
import { publishStore } from "../../helpers/store/run-store.ts";
import { startRedis } from "../../shared/redis-server.ts";
import { ROOT } from "../../shared/root.ts";
import type { Answer, Request } from "./tests.ts";

/** How long a test may take, given how long it usually takes. */
const limitMs = (usualMs: number): number => 4000 + 4 * usualMs;
const HOOK_LIMIT_MS = 20_000;

const [, , ...files] = process.argv;
const { url, pid } = await startRedis();
publishStore({ kind: "external", url });
const redis = new Redis(url);
process.on("disconnect", () => process.exit());

/** The texts that replace modules of the library. */
let sources: readonly (readonly [original: string, text: string])[] = [];
let isRecording = false;
/** The servers that have the instrumented library, and the digest in its name. */
const recording = new Map<string, { server: Redis; digest: string }>();

const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (this: Redis, command, ...rest) {
  const { name, args } = command as unknown as { name: string; args: unknown[] };
  if (name === "function" && String(args[0]).toUpperCase() === "LOAD") {
    const at = args.length - 1;
    args[at] = changed(String(args[at]), this);
  }
  return sendCommand.call(this, command, ...rest);
};

function changed(library: string, server: Redis): string {
  let text = library;
  for (const [original, source] of sources) text = text.replace(original, () => source);
  if (!isRecording) return text;
  const { host, port } = server.options;
  const [, digest = ""] = /^local DIGEST = '(\w+)'/m.exec(text) ?? [];
  const key = `${host}:${port} ${digest}`;
  if (!recording.has(key)) {
    // The connection of a test is closed before its coverage is read.
    const own = server.duplicate({ enableOfflineQueue: true, retryStrategy: () => null });
    own.on("error", () => {});
    recording.set(key, { server: own, digest });
  }
  const tell = `local HIT = {}
redis.register_function{ function_name = 'reached_${digest}', flags = { 'no-writes' }, callback = function()
  local numbers = {}
  for number in pairs(HIT) do numbers[#numbers + 1] = number end
  HIT = {}
  return numbers
end }
`;
  return text.replace(/\nlocal DIGEST = .*\n/, (line) => `${line}${tell}`);
}

/** The numbers of the statements that were reached since the last call. */
async function reached(): Promise<number[]> {
  const of = await Promise.all(
    [...recording].map(async ([key, { server, digest }]) => {
      try {
        return (await server.call("FCALL", `reached_${digest}`, 0)) as number[];
      } catch {
        server.disconnect();
        recording.delete(key);
        return [];
      }
    }),
  );
  return of.flat();
}

const mocha = new Mocha({ timeout: HOOK_LIMIT_MS, bail: true, reporter: class {} as never });
mocha.cleanReferencesAfterRun(false);
for (const file of files) mocha.addFile(file);
await mocha.loadFilesAsync();
const all = mocha.suite.suites;
const nameOf = (test: Mocha.Test): string => `${relative(ROOT, test.file ?? "")} › ${test.fullTitle()}`;
const ownLimits = new Map<Mocha.Test, number>();
const testsOf = new Map<Mocha.Suite, readonly Mocha.Test[]>();
const suitesOf = new Map<Mocha.Suite, readonly Mocha.Suite[]>();
for (const suite of all) remember(suite);

function remember(suite: Mocha.Suite): void {
  testsOf.set(suite, suite.tests);
  suitesOf.set(suite, suite.suites);
  for (const test of suite.tests) ownLimits.set(test, test.timeout());
  suite.suites.forEach(remember);
}

/** Leaves in a suite only some tests, each with its limit; false if there are none. */
function select(suite: Mocha.Suite, usual: ReadonlyMap<string, number>): boolean {
  suite.tests = (testsOf.get(suite) ?? []).filter((test) => usual.has(nameOf(test)));
  suite.suites = (suitesOf.get(suite) ?? []).filter((inner) => select(inner, usual));
  for (const test of suite.tests) test.timeout(limitMs(usual.get(nameOf(test)) ?? 0));
  return suite.tests.length + suite.suites.length > 0;
}

/** Runs all tests, and notes what each of them reaches. */
async function record(): Promise<Answer> {
  const reaches: Record<string, { ms: number; statements: number[] }> = {};
  const failed = new Set<string>();
  let error: string | undefined;
  const note = (test: Mocha.Test, statements: readonly number[]) => {
    const name = nameOf(test);
    const known = reaches[name] ?? { ms: 0, statements: [] };
    reaches[name] = { ms: known.ms, statements: [...new Set([...known.statements, ...statements])] };
  };
  const suites = all.map((suite) => {
    restore(suite);
    return suite;
  });
  mocha.suite.suites = suites;
  mocha.suite.beforeEach(async function () {
    // Statements reached by the hooks before a suite count for all of its tests.
    const statements = isRecording ? await reached() : [];
    if (statements.length > 0) this.currentTest?.parent?.eachTest((test) => note(test, statements));
  });
  mocha.suite.afterEach(async function () {
    const test = this.currentTest;
    if (!isRecording || !test) return;
    note(test, await reached());
    const name = nameOf(test);
    reaches[name] = { statements: reaches[name]?.statements ?? [], ms: test.duration ?? 0 };
  });
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on("fail", (test, reason) => {
      failed.add(nameOf(test as Mocha.Test));
      error ??= String(reason?.stack ?? reason);
    });
  });
  return {
    reaches: Object.fromEntries(Object.entries(reaches).filter(([name]) => !failed.has(name))),
    failed: [...failed],
    ...(error !== undefined && { error }),
  };
}

function restore(suite: Mocha.Suite): void {
  suite.bail(false);
  suite.tests = [...(testsOf.get(suite) ?? [])];
  suite.suites = [...(suitesOf.get(suite) ?? [])];
  suite.suites.forEach(restore);
}

function bail(suite: Mocha.Suite): void {
  suite.bail(true);
  suite.suites.forEach(bail);
}

/** Runs some tests until one fails. */
async function judge(usual: ReadonlyMap<string, number>): Promise<Answer> {
  mocha.suite.suites = all.filter((suite) => select(suite, usual));
  if (mocha.suite.suites.length === 0) return { missing: true };
  bail(mocha.suite);
  return await new Promise<Answer>((resolve) => {
    let failure: Answer | undefined;
    const runner = mocha.run(() => {
      // Its listener would end the process at the next error of a test that has ended.
      runner.dispose();
      resolve(failure ?? {});
    });
    runner.on("fail", (runnable, error) => {
      const test = (runnable.type as string) === "hook" ? (runnable.ctx?.currentTest ?? runnable) : runnable;
      failure ??= { failed: [nameOf(test as Mocha.Test)], error: String(error?.message ?? error) };
    });
  });
}

async function answer(request: Request): Promise<Answer> {
  sources = request.sources;
  isRecording = request.record === true;
  await redis.function("FLUSH");
  if (isRecording) mocha.bail(false);
  return isRecording ? await record() : await judge(new Map(Object.entries(request.tests)));
}

process.on("message", (request: Request) => {
  answer(request).then(
    (result) => process.send?.(result),
    (error) => process.send?.({ broken: String(error?.stack ?? error) }),
  );
});
// An error left behind by an ended test must not end the process.
for (const error of ["unhandledRejection", "uncaughtException"]) process.on(error, () => {});
process.send?.({ pid });
