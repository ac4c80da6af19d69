/**
 * `npm run build`: compiles src to dist, and copies the Lua files and the
 * pages' assets. `npm start` calls it every time, so it does nothing if dist was made from exactly the current sources. A
 * failed build leaves the last good dist unchanged. Types are checked by `npm run check`, since that takes several times as long;
 * the package and the tests also have declarations (`--declarations`).
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { installed } from "../src/extras/pages/assets.ts";
import { filesIn } from "./files.ts";

/** What src may contain besides TypeScript, and where; anything else stops the build. */
const ASSETS: Readonly<Record<string, string>> = {
  ".lua": "",
  ".css": "extras/",
  ".html": "extras/",
  ".svg": "extras/",
  ".js": "extras/",
};
/** Files of packages that are not installed where the server runs, each with the source file that uses it. */
const SHIPPED: readonly { from: string; to: string; for: string }[] = [
  ...["swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "LICENSE", "NOTICE"].map(
    (name) => ({
      from: `swagger-ui-dist/${name}`,
      to: `extras/pages/swagger-ui/${name}`,
      for: "extras/pages/docs/docs.html",
    }),
  ),
  ...["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"].map((name) => ({
    from: `uplot/${name}`,
    to: `extras/pages/uplot/${basename(name)}`,
    for: "extras/pages/dashboard/dashboard.html",
  })),
  ...[
    "preact/dist/preact.min.umd.js",
    "preact/hooks/dist/hooks.umd.js",
    "preact/LICENSE",
    "htm/dist/htm.umd.js",
    "htm/LICENSE",
  ].map((from) => ({
    from,
    to: `extras/pages/${from.split("/")[0]}/${basename(from)}`,
    for: "extras/pages/browser/preact.js",
  })),
];
/** The file that `bin` of package.json names, below src and dist. */
const COMMAND = "cli/paihao";
/** Files of packages of at least this length are compressed: one would be a quarter of the download. */
const COMPRESSED_FROM = 100_000;
/** Compiler settings, which are not shipped. */
const SETTINGS = "src/tsconfig.json";
/** The file in dist that records which sources it was made from. */
const STAMP = ".built-from";

/** A build that cannot be finished; the message is for a person. */
class BuildError extends Error {}

/** What a build may do besides. */
interface BuildOptions {
  /** Also makes the declarations (`.d.ts`). */
  readonly declarations?: boolean;
  /** Told what takes a while, before it begins. */
  readonly say?: (line: string) => void;
}

/** Brings `root`/dist up to date; returns the line that says what happened. */
export function build(root: string, { declarations = false, say = () => {} }: BuildOptions = {}): string {
  const began = performance.now();
  const dist = join(root, "dist");
  const sources = filesIn(join(root, "src"));
  const stamp = fingerprint(root, sources);
  const whole = `${stamp} with declarations`;
  const made = readIfThere(join(dist, STAMP));
  if (made === whole || (made === stamp && !declarations)) return "build: dist is up to date";
  say("build: compiling src to dist");

  if (!sources.includes(`${COMMAND}.ts`)) throw new BuildError(`src/${COMMAND}.ts is missing, the package's command`);
  const assets = sources.filter((path) => extname(path) !== ".ts" && basename(path) !== basename(SETTINGS));
  for (const path of assets) {
    const folder = ASSETS[extname(path)];
    if (folder === undefined || !path.startsWith(folder)) {
      throw new BuildError(`src/${path} is neither TypeScript nor an asset that scripts/build.ts knows`);
    }
  }

  const shipped = SHIPPED.filter((file) => sources.includes(file.for));
  // Beside dist, not within, so that a failed build does not change dist.
  const fresh = join(root, `dist.${process.pid}`);
  try {
    compile(root, fresh, declarations);
    for (const path of assets) copy(join(root, "src", path), join(fresh, path));
    for (const { from, to } of shipped) {
      ship(installed(from), join(fresh, to));
    }
    fs.chmodSync(join(fresh, `${COMMAND}.js`), 0o755);
    fs.writeFileSync(join(fresh, STAMP), declarations ? whole : stamp);
    replace(dist, fresh);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const others = assets.length + shipped.length;
  return `build: ${sources.filter((path) => extname(path) === ".ts").length} TypeScript files compiled, ${others} ${others === 1 ? "asset" : "assets"} copied to dist in ${seconds} s`;
}

function copy(from: string, to: string): void {
  fs.mkdirSync(dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
}

/** Copies a file, without the reference to its source map; compressed if it is large. */
function ship(from: URL, to: string): void {
  const text = fs.readFileSync(from, "utf8").replace(/\n\/[*/]# sourceMappingURL=\S+\.map(?: ?\*\/)?\s*$/, "\n");
  fs.mkdirSync(dirname(to), { recursive: true });
  if (text.length < COMPRESSED_FROM) fs.writeFileSync(to, text);
  else fs.writeFileSync(`${to}.gz`, gzipSync(text, { level: 9 }));
}

/** Changes whenever a file is added, removed, renamed or written, without reading any file. */
function fingerprint(root: string, sources: readonly string[]): string {
  const hash = createHash("sha256");
  const settings = ["package.json", "tsconfig.json"];
  const inputs = [...settings, ...sources.map((path) => `src/${path}`)];
  for (const path of inputs) {
    const { size, mtimeMs } = fs.statSync(join(root, path));
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

function compile(root: string, outDir: string, declarations: boolean): void {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  if (!fs.existsSync(tsc)) {
    throw new BuildError("dist is not up to date and TypeScript is not installed; run `npm ci` without --omit=dev");
  }
  const options = ["--noCheck", "--declaration", String(declarations), "--outDir", outDir];
  const run = spawnSync(process.execPath, [tsc, "-p", SETTINGS, ...options], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (run.error) throw run.error;
  if (run.status !== 0)
    throw new BuildError(`src cannot be compiled; dist is left as it was\n${run.stdout}${run.stderr}`);
}

/** Replaces `dist` by `fresh`; of two builds that end at once, the later one wins. */
function replace(dist: string, fresh: string): void {
  for (let attempt = 1; ; attempt += 1) {
    const old = `${fresh}.old`;
    try {
      if (fs.existsSync(dist)) fs.renameSync(dist, old);
      fs.renameSync(fresh, dist);
      return;
    } catch (error) {
      if (attempt === 5) throw error;
    } finally {
      fs.rmSync(old, { recursive: true, force: true });
    }
  }
}

function readIfThere(path: string): string | undefined {
  return fs.existsSync(path) ? fs.readFileSync(path, "utf8") : undefined;
}

if (process.argv[1] === import.meta.filename) {
  try {
    const declarations = process.argv.includes("--declarations");
    console.error(build(resolve(import.meta.dirname, ".."), { declarations, say: console.error }));
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(`build failed: ${error.message}`);
    process.exitCode = 1;
  }
}
