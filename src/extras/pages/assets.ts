import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { type Asset, makeAsset } from "../../http/asset.ts";
import { FACTS, TASK_FACTS } from "../../task-record.ts";

/** What browsers load, and nothing else: all of it is served. */
const BROWSER = new URL("browser/", import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The folder of each address prefix of assets. */
type AssetFolder = "pages" | "docs";

/** Where the file of each name is. */
type Files = Readonly<Record<string, URL>>;

/** Which files each folder has; nothing else is served. */
const FILES: Readonly<Record<AssetFolder, () => Files>> = {
  pages: () => ({
    ...servedIn(BROWSER),
    "preact/preact.js": ofPackage("preact/dist/preact.min.umd.js", "preact"),
    "preact/hooks.js": ofPackage("preact/hooks/dist/hooks.umd.js", "preact"),
    "preact/htm.js": ofPackage("htm/dist/htm.umd.js", "htm"),
    "dashboard/uplot.js": ofPackage("uplot/dist/uPlot.iife.min.js", "uplot"),
    "dashboard/uplot.css": ofPackage("uplot/dist/uPlot.min.css", "uplot"),
  }),
  docs: () => ({
    "swagger-ui.css": ofPackage("swagger-ui-dist/swagger-ui.css", "swagger-ui"),
    "swagger-ui-bundle.js": ofPackage("swagger-ui-dist/swagger-ui-bundle.js", "swagger-ui"),
  }),
};

/** A module of what the server knows, by its address in the pages. */
const FACTS_MODULE = "task-facts.js";
const factsModule = () =>
  makeAsset(
    TYPES[".js"] ?? "",
    Buffer.from(
      `export const FACTS = ${JSON.stringify(FACTS)};\nexport const TASK_FACTS = ${JSON.stringify(TASK_FACTS)};\n`,
    ),
  );

const folders = new Map<AssetFolder, Files>();
const assets = new Map<URL, Asset>();

/** A file that pages load, read when first asked for; undefined for any other name. */
export function assetOf(folder: AssetFolder, name: string): Asset | undefined {
  if (folder === "pages" && name === FACTS_MODULE) return factsModule();
  const files = folders.get(folder) ?? FILES[folder]();
  folders.set(folder, files);
  const location = Object.hasOwn(files, name) ? files[name] : undefined;
  if (location === undefined) return undefined;
  const asset = assets.get(location) ?? makeAsset(TYPES[extname(name)] ?? "", bytesOf(location));
  assets.set(location, asset);
  return asset;
}

/** The files of a folder and its subfolders by their paths. */
function servedIn(folder: URL): Files {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => Object.hasOwn(TYPES, extname(path)));
  return Object.fromEntries(names.map((name) => [name, new URL(name, folder)]));
}

/** A file of a package. The build puts it beside this module, in `built`; when running from src, the package itself is there. */
function ofPackage(path: string, built: string): URL {
  const copied = new URL(`${built}/${basename(path)}`, import.meta.url);
  const compressed = new URL(`${copied}.gz`);
  if (existsSync(compressed)) return compressed;
  return existsSync(copied) ? copied : installed(path);
}

/** Where a file of an installed package is, also one that its `exports` do not name. */
export function installed(path: string): URL {
  const folders = createRequire(import.meta.url).resolve.paths(path) ?? [];
  const found = folders.map((folder) => join(folder, path)).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${path} is not installed`);
  return pathToFileURL(found);
}

function bytesOf(location: URL): Buffer {
  const bytes = readFileSync(location);
  return location.pathname.endsWith(".gz") ? gunzipSync(bytes) : bytes;
}
