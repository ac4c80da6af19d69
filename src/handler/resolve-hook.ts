import type { InitializeHook, ResolveFnOutput, ResolveHook, ResolveHookContext } from "node:module";

/*
 * Resolve hooks, which run before those of tsx, if tsx is registered. Where Node has `module.registerHooks`, tsx uses it, and so
 * must we: its hooks run before all others. Hooks of `module.register` run in a thread of their own, which gets only the data
 * that the server passes.
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
  try {
    return asModule(await nextResolve(specifier, importing(specifier, context, index)));
  } catch (error) {
    if (!isOurs(specifier, context, error)) throw error;
    try {
      return await nextResolve(specifier, { ...context, parentURL: index });
    } catch {
      throw error; // its message names the importing file
    }
  }
};

/** The hook of `module.registerHooks`, which runs in the thread that imports. */
type ResolveHookSync = (
  specifier: string,
  context: ResolveHookContext,
  nextResolve: (specifier: string, context?: Partial<ResolveHookContext>) => ResolveFnOutput,
) => ResolveFnOutput;

/** The same as {@link resolve} for `module.registerHooks`. */
export function resolveHookSync(indexUrl: string): ResolveHookSync {
  return (specifier, context, nextResolve) => {
    if (specifier === PACKAGE) return nextResolve(indexUrl, context);
    try {
      return asModule(nextResolve(specifier, importing(specifier, context, indexUrl)));
    } catch (error) {
      if (!isOurs(specifier, context, error)) throw error;
      try {
        return nextResolve(specifier, { ...context, parentURL: indexUrl });
      } catch {
        throw error;
      }
    }
  };
}

/** Other entry points of the package are found by its own "exports". */
function importing(specifier: string, context: ResolveHookContext, indexUrl: string): ResolveHookContext {
  return specifier.startsWith(`${PACKAGE}/`) ? { ...context, parentURL: indexUrl } : context;
}

/** Whether a specifier that was not found from its file is looked up among our dependencies. */
function isOurs(specifier: string, context: ResolveHookContext, error: unknown): boolean {
  return BARE.test(specifier) && !isDependency(context.parentURL) && isNotFound(error);
}

/**
 * Makes handler files ES modules even without a package.json with `"type": "module"`. tsx treats such files as CommonJS, with a
 * mark in the query of their URL; imports of CommonJS modules would not use these hooks.
 */
function asModule(resolved: ResolveFnOutput): ResolveFnOutput {
  if (!resolved.url.startsWith("file:") || isDependency(resolved.url)) return resolved;
  // Without tsx, Node itself leaves out the types; its own types know these formats only from version 22 on.
  const format: string | null | undefined = resolved.format;
  if (format === "commonjs-typescript") return { ...resolved, format: "module-typescript" as "module" };
  if (resolved.format !== "commonjs") return resolved;
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
  const { code } = error as NodeJS.ErrnoException;
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
}
