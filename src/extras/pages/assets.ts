import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { gunzipSync } from "node:zlib";
import { type Asset, makeAsset } from "../../http/asset.ts";

/** Where the build has put what pages load, each file compressed in two ways. From source, too, a server has it from the build. */
const FOLDER = import.meta.url.endsWith(".ts") ? "../../../dist/extras/pages/assets/" : "assets/";
const BUILT = new URL(FOLDER, import.meta.url);
/** A name of a file there: what pages call it has no digest. */
const NAME = /^(\w+)-[A-Z0-9]{8}(\.\w+)\.(?:br|gz)$/;

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** The names of the files, by those that pages call them, and the files that have been asked for. */
let names: ReadonlyMap<string, string> | undefined;
const read = new Map<string, Asset>();

/** The address of a file that a page loads. */
export function addressOf(file: string): string {
  const name = namesBuilt().get(file);
  if (name === undefined) throw new Error(`${file} is missing: npm run build makes it`);
  return `/pages/${name}`;
}

/** What is at such an address; undefined for any other, also for that of another version. */
export function assetAt(name: string): Asset | undefined {
  const known = read.get(name);
  if (known || ![...namesBuilt().values()].includes(name)) return known;
  const [br, gzip] = [readFileSync(new URL(`${name}.br`, BUILT)), readFileSync(new URL(`${name}.gz`, BUILT))];
  const asset = makeAsset(TYPES[extname(name)] ?? "", gunzipSync(gzip), { br, gzip });
  read.set(name, asset);
  return asset;
}

function namesBuilt(): ReadonlyMap<string, string> {
  names ??= new Map(
    readdirSync(BUILT).flatMap((file) => {
      const [, name, type] = NAME.exec(file) ?? [];
      return name === undefined ? [] : [[`${name}${type}`, file.replace(/\.\w+$/, "")] as const];
    }),
  );
  return names;
}
