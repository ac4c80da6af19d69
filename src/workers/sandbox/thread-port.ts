import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../errors.ts";
import type { FromSandbox } from "./messages.ts";
import type { SandboxPort } from "./port.ts";

/** `.ts` when run from source (with tsx), `.js` when compiled. */
const OWN_EXTENSION = extname(fileURLToPath(import.meta.url));
const ENTRY = new URL(`./sandbox-main${OWN_EXTENSION}`, import.meta.url);

/** In Node 20 a new thread does not inherit tsx, in later versions it does; registering it twice would slow down every import. */
const BOOT_FROM_SOURCE = `
const { entry, tsx } = require("node:worker_threads").workerData;
import(entry).catch(async (error) => {
  if (error.code !== "ERR_UNKNOWN_FILE_EXTENSION") throw error;
  (await import(tsx)).register();
  // Another specifier, since the failed import is cached.
  await import(entry + "?by-tsx");
});`;

/** Starts a sandbox in a thread of this process, with a limit for its heap in MB. */
export function openThread(memoryMb: number): SandboxPort {
  const options = { name: "paihao-sandbox", resourceLimits: { maxOldGenerationSizeMb: memoryMb } };
  const worker =
    OWN_EXTENSION === ".ts"
      ? new Worker(BOOT_FROM_SOURCE, {
          ...options,
          eval: true,
          workerData: { entry: ENTRY.href, tsx: tsxUrl() },
        })
      : new Worker(ENTRY, options);
  let reason: string | undefined;
  worker.on("error", (error) => {
    reason ??= messageOf(error);
  });
  const gone = new Promise<string>((resolve) => {
    // All its messages have been delivered by then.
    worker.once("exit", (code) => resolve(reason ?? `the thread ended with exit code ${code}`));
  });
  return {
    post: (message) => worker.postMessage(message),
    listen: (listener) => worker.on("message", (message: FromSandbox) => listener(message)),
    gone,
    kill: async () => {
      await worker.terminate();
    },
  };
}

/** The ES module of tsx: the CommonJS one looks for its files in the wrong place. */
function tsxUrl(): string {
  const commonJs = createRequire(import.meta.url).resolve("tsx/esm/api");
  return pathToFileURL(commonJs.replace(/\.cjs$/, ".mjs")).href;
}
