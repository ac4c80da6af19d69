/**
 * `npm run build`: compiles src to dist, copies the Lua files, and bundles what pages load. `npm start` calls it every time, so it
 * does nothing if dist was made from exactly the current sources. A failed build leaves the last good dist unchanged. Types are checked by `npm run check`, since that takes several times as long;
 * the package and the tests also have declarations (`--declarations`).
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { filesIn } from "./files.ts";

/** What src may contain besides TypeScript, and where; anything else stops the build. */
const OTHERS: Readonly<Record<string, string>> = { ".lua": "", ".css": "extras/", ".js": "extras/" };
/** What pages load, each made of one file below src/extras/pages/browser and of what this imports, also from packages. */
const PAGE_FILES = [
  ...["dashboard/dashboard.js", "dashboard/dashboard.css", "docs/docs.js", "docs/docs.css"],
  ...["group/group.js", "home/home.js", "task/task.js", "card.css"],
];
/** The steps above take ten times as long, for 7 % less. */
const BROTLI_QUALITY = 9;
/** The licenses of the packages that are in bundles. */
const LICENSES = {
  htm: ["LICENSE"],
  preact: ["LICENSE"],
  uplot: ["LICENSE"],
};
/** The file that `bin` of package.json names, below src and dist. */
const COMMAND = "cli/paihao";
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
  const others = sources.filter((path) => extname(path) !== ".ts" && basename(path) !== basename(SETTINGS));
  for (const path of others) {
    const folder = OTHERS[extname(path)];
    if (folder === undefined || !path.startsWith(folder)) {
      throw new BuildError(`src/${path} is neither TypeScript nor what scripts/build.ts knows`);
    }
  }

  // Beside dist, not within, so that a failed build does not change dist.
  const fresh = join(root, `dist.${process.pid}`);
  try {
    compile(root, fresh, declarations);
    for (const path of others.filter((path) => extname(path) === ".lua"))
      copy(join(root, "src", path), join(fresh, path));
    writeBundles(root, join(fresh, "extras/pages/assets"));
    fs.chmodSync(join(fresh, `${COMMAND}.js`), 0o755);
    fs.writeFileSync(join(fresh, STAMP), declarations ? whole : stamp);
    replace(dist, fresh);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const compiled = sources.filter((path) => extname(path) === ".ts").length;
  return `build: ${compiled} TypeScript files compiled, ${PAGE_FILES.length} files of pages bundled to dist in ${seconds} s`;
}

function copy(from: string, to: string): void {
  fs.mkdirSync(dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
}

/** Writes what pages load, each file compressed in two ways, and the licenses of the packages in it. */
function writeBundles(root: string, to: string): void {
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: PAGE_FILES.map((path) => `src/extras/pages/browser/${path}`),
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    outdir: to,
    // The digest makes an address whose content never changes.
    entryNames: "[name]-[hash]",
    legalComments: "none",
  });
  fs.mkdirSync(to, { recursive: true });
  for (const { path, contents } of outputFiles) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
    fs.writeFileSync(`${path}.br`, brotliCompressSync(contents, { params }));
    fs.writeFileSync(`${path}.gz`, gzipSync(contents, { level: 9 }));
  }
  for (const [name, files] of Object.entries(LICENSES)) {
    for (const file of files) fs.copyFileSync(join(root, "node_modules", name, file), join(to, `${name}.${file}`));
  }
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
