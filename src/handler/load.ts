import { readdir, stat } from "node:fs/promises";
import * as nodeModule from "node:module";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { messageOf, StartError } from "../errors.ts";
import { type Handler, isHandler } from "./define.ts";
import { type ResolveData, resolveHookSync } from "./resolve-hook.ts";

/** The handlers that come with the server. */
export const shippedHandlersDir: string = fileURLToPath(new URL("../handlers/", import.meta.url));

const HANDLER_FILE = /^[^.].*\.m?[jt]s$/;
/** Declares queues for workers over HTTP. */
const QUEUES_FILE = "queues.json";
const NO_HANDLER_FILE = /\.d\.m?ts$|\.test\.m?[jt]s$/;

/** `.ts` while the sources run (under tsx), `.js` once they are compiled. */
const OWN_EXTENSION = path.extname(fileURLToPath(import.meta.url));

/** Loads what importing the handlers of a directory needs, and none of them. @throws StartError like {@link loadHandlers} */
export async function prepareHandlers(dir: string): Promise<void> {
  await prepareImports(await handlerFiles(path.resolve(dir)));
}

/**
 * Loads every handler that a file in `dir` exports or `queues.json` declares, by the name of its queue; not from subdirectories. Files may be TypeScript,
 * and may import `paihao` and this package's dependencies without having them installed.
 * @throws StartError, with the path and the reason, if the directory cannot be read or has no handler, a file cannot be loaded,
 *   or two handlers have the same queue
 */
export async function loadHandlers(dir: string): Promise<ReadonlyMap<string, Handler>> {
  const root = path.resolve(dir);
  const files = await handlerFiles(root);
  await prepareImports(files);

  const handlers = new Map<string, Handler>();
  const origins = new Map<string, string>();
  // One after the other, so that the same one of several errors is always reported.
  for (const file of files) {
    for (const [name, handler] of await exportedHandlers(file)) {
      const { queue } = handler;
      const origin = isQueuesFile(file) ? file : `${file} (export ${name})`;
      const known = handlers.get(queue);
      // The same handler may be exported twice: under two names, or again by an index file.
      if (known === handler) continue;
      if (known) throw new StartError(`two handlers for the queue "${queue}": ${origins.get(queue)} and ${origin}`);
      handlers.set(queue, handler);
      origins.set(queue, origin);
    }
  }
  if (handlers.size === 0) {
    throw new StartError(
      `${root} has no handlers, expected a .ts, .mts, .js or .mjs file that exports a defineHandler(), or a ${QUEUES_FILE}`,
    );
  }
  return handlers;
}

const isQueuesFile = (file: string): boolean => path.basename(file) === QUEUES_FILE;

async function handlerFiles(root: string): Promise<string[]> {
  try {
    const names = (await readdir(root))
      .filter((name) => isQueuesFile(name) || (HANDLER_FILE.test(name) && !NO_HANDLER_FILE.test(name)))
      .sort();
    const paths = names.map((name) => path.join(root, name));
    // stat follows links: the files of a mounted Kubernetes ConfigMap are links.
    const areFiles = await Promise.all(paths.map(async (file) => (await stat(file)).isFile()));
    return paths.filter((_, i) => areFiles[i]);
  } catch (error) {
    const { code, path: at = root } = error as NodeJS.ErrnoException;
    const reason = { ENOENT: "does not exist", ENOTDIR: "is not a directory", EACCES: "may not be read" }[code ?? ""];
    const what = at === root ? "the handlers' directory" : "the handler file";
    throw new StartError(`${what} ${at} ${reason ?? `cannot be read: ${messageOf(error)}`}`, { cause: error });
  }
}

async function exportedHandlers(file: string): Promise<[name: string, Handler][]> {
  let exports: Record<string, unknown>;
  try {
    // Loaded only here, since the library that reads JSON Schema takes long to load.
    if (isQueuesFile(file)) return await (await import("./queues-file.ts")).readQueuesFile(file);
    exports = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new StartError(`${file} cannot be loaded: ${reasonOf(error)}`, { cause: error });
  }
  return Object.entries(exports).filter((entry): entry is [string, Handler] => isHandler(entry[1]));
}

/** The reason, on one line: the second line of an esbuild error, whose first line is only the number of errors. */
function reasonOf(thrown: unknown): string {
  const lines = messageOf(thrown)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const said = (/^Transform failed with \d+ error/.test(lines[0] ?? "") ? lines[1] : lines[0]) ?? "no reason given";
  return thrown instanceof Error && !/error/i.test(said) ? `${thrown.name}: ${said}` : said;
}

/** Exists in Node 22.15 and later. */
const { registerHooks } = nodeModule as {
  readonly registerHooks?: (hooks: { readonly resolve: ReturnType<typeof resolveHookSync> }) => void;
};

let resolvesHandlers = false;
let readsTypeScript = OWN_EXTENSION === ".ts";

/**
 * Registers the hooks that importing the files needs, once for each process. Hooks registered later run first: ours before
 * those of tsx.
 */
async function prepareImports(files: readonly string[]): Promise<void> {
  const index = new URL(`../index${OWN_EXTENSION}`, import.meta.url).href;
  // Nearly every handler file imports it, and once there are hooks, each of its modules takes longer to load. The tasks of a dead worker wait for
  // child processes that load it: they run again about a second later if the hooks come first (npm run bench -- recovery).
  await import(index);
  const typescript = readsTypeScript ? undefined : files.find((file) => /\.m?ts$/.test(file));
  if (typescript !== undefined) {
    await readTypeScript(typescript);
    readsTypeScript = true;
  }
  if (typescript !== undefined || !resolvesHandlers) {
    resolvesHandlers = true;
    const data: ResolveData = { index };
    if (registerHooks) registerHooks({ resolve: resolveHookSync(index) });
    else nodeModule.register(`./resolve-hook${OWN_EXTENSION}`, import.meta.url, { data });
  }
}

/**
 * Makes this process read TypeScript: with tsx, if that is installed beside the file or with this package, since it knows all of the
 * language; else Node itself must be able to.
 * @throws StartError that says what to install
 */
async function readTypeScript(file: string): Promise<void> {
  const tsx = tsxOf(file) ?? tsxOf(import.meta.filename);
  if (tsx !== undefined) {
    const { register } = (await import(tsx)) as typeof import("tsx/esm/api");
    register();
  } else if (!stripsTypes()) {
    throw new StartError(
      `${file} is TypeScript, which Node ${process.version} cannot read: use Node 22.18 or later, or install tsx (npm install tsx)`,
    );
  }
}

/** The URL of the API of tsx, as a file sees it; undefined if it is not installed. */
function tsxOf(file: string): string | undefined {
  try {
    // The path of the CommonJS module: the ES module, beside it, is the one that can be imported under a path.
    const commonJs = createRequire(path.resolve(file)).resolve("tsx/esm/api");
    return pathToFileURL(commonJs.replace(/\.cjs$/, ".mjs")).href;
  } catch {
    // MODULE_NOT_FOUND
    return undefined;
  }
}

/** Whether Node can leave out types, and does. */
function stripsTypes(): boolean {
  const { typescript = false } = process.features as { readonly typescript?: false | "strip" | "transform" };
  return typescript !== false;
}
