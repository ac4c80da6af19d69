import type { InitializeHook, ResolveFnOutput, ResolveHook } from "node:module";

/*
 * Resolve hooks for `module.register`: they run in a thread of their own, which shares nothing with the server but the
 * data that it hands over. They stand before tsx's hooks where tsx is registered.
 */

/** What the loader tells the hooks. */
export interface ResolveData {
  /** URL of the index of the running package. */
  index: string;
}

const PACKAGE = "paihao";
/** Neither a path nor a URL, nor `#name` of the own package. */
const BARE = /^(?![./#]|[a-z][a-z0-9+.-]*:)/i;

let index = "";

export const initialize: InitializeHook<ResolveData> = (data) => {
  index = data.index;
};

/**
 * Lets handler files lie anywhere: `paihao` is the running package itself, never another copy, and a package that cannot be
 * found from where the file is, such as zod, is taken from among the dependencies of this one.
 */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  if (specifier === PACKAGE) return nextResolve(index, context);
  // Other entry points, e.g. paihao/client, are found by the package's own "exports".
  const from = specifier.startsWith(`${PACKAGE}/`) ? { ...context, parentURL: index } : context;
  try {
    return asModule(await nextResolve(specifier, from));
  } catch (error) {
    if (!BARE.test(specifier) || isDependency(context.parentURL) || !isNotFound(error)) throw error;
    try {
      return await nextResolve(specifier, { ...context, parentURL: index });
    } catch {
      throw error; // which names the file that asked
    }
  }
};

/**
 * Handlers are ES modules though no package.json near them says `"type": "module"`. tsx takes such files for CommonJS and hides
 * a mark behind a `?` in their URL; CommonJS would ask none of these hooks for its imports.
 */
function asModule(resolved: ResolveFnOutput): ResolveFnOutput {
  if (resolved.format !== "commonjs" || !resolved.url.startsWith("file:") || isDependency(resolved.url))
    return resolved;
  const url = new URL(resolved.url);
  url.search = "";
  url.pathname = url.pathname.replace(/%3f.*$/i, "");
  if (url.pathname.endsWith(".ts")) return { ...resolved, url: url.href, format: "module" };
  // JavaScript may well be CommonJS: without a format, its content is looked at.
  if (url.pathname.endsWith(".js")) return { ...resolved, url: url.href, format: null };
  return resolved;
}

function isDependency(url: string | undefined): boolean {
  return url === undefined || url.includes("/node_modules/");
}

function isNotFound(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";
}
