import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { StartError } from "../errors.ts";

/**
 * Makes this process read TypeScript: with tsx, if that is installed beside the file or with this package, since it knows all of the
 * language; else Node itself must be able to.
 * @throws StartError that says what to install
 */
export async function readTypeScript(file: string): Promise<void> {
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
