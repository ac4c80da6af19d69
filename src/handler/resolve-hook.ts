import type { InitializeHook, ResolveFnOutput, ResolveHook } from "node:module";

/*
 * Resolve hooks for `module.register`: they run in a thread of their own, which gets only the data that the server passes. They
 * run before those of tsx, if tsx is registered.
 */

/** The data for the hooks. */
export interface ResolveData {
  /** URL of the index of the running package. */
  index: string;
}

const PACKAGE = "paihao";
/** A specifier that is neither a path nor a URL nor `#name`. */
const BARE = /^(?![./#]|[a-z][a-z0-9+.-]*:)/i;

let index = "";

export const initialize: InitializeHook<ResolveData> = (data) => {
  index = data.index;
};

/**
 * Lets handler files be anywhere: `paihao` is always the running package, and a package that is not found from the file, such
 * as zod, is resolved from the dependencies of this package.
 */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  if (specifier === PACKAGE) return nextResolve(index, context);
  // Other entry points are found by the package's own "exports".
  const from = specifier.startsWith(`${PACKAGE}/`) ? { ...context, parentURL: index } : context;
  try {
    return asModule(await nextResolve(specifier, from));
  } catch (error) {
    if (!BARE.test(specifier) || isDependency(context.parentURL) || !isNotFound(error)) throw error;
    try {
      return await nextResolve(specifier, { ...context, parentURL: index });
    } catch {
      throw error; // its message names the importing file
    }
  }
};

/**
 * Makes handler files ES modules even without a package.json with `"type": "module"`. tsx treats such files as CommonJS, with a
 * mark in the query of their URL; imports of CommonJS modules would not use these hooks.
 */
function asModule(resolved: ResolveFnOutput): ResolveFnOutput {
  if (resolved.format !== "commonjs" || !resolved.url.startsWith("file:") || isDependency(resolved.url))
    return resolved;
  const url = new URL(resolved.url);
  url.search = "";
  url.pathname = url.pathname.replace(/%3f.*$/i, "");
  if (url.pathname.endsWith(".ts")) return { ...resolved, url: url.href, format: "module" };
  // A .js file may be CommonJS: without a format, Node detects it from the content.
  if (url.pathname.endsWith(".js")) return { ...resolved, url: url.href, format: null };
  return resolved;
}

function isDependency(url: string | undefined): boolean {
  return url === undefined || url.includes("/node_modules/");
}

function isNotFound(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";
}
