/**
 * `npm run previous -- REVISION`: freezes the server of a commit or tag in test/upgrade/previous.json.br, from which the upgrade
 * test runs it beside the present one. It is committed because a shallow clone or an archive cannot build that commit. The packages
 * that it imports are those of the checkout.
 */
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { transformSync } from "esbuild";
import { filesIn } from "./files.ts";

const ROOT = join(import.meta.dirname, "..");
const TARGET = join(ROOT, "test/upgrade/previous.json.br");
/** Files that a server does not need. */
const LEFT_OUT = /^dist\/http\/pages\/swagger-ui\/|^dist\/vendor\/chunk-|\.d\.ts$|LICENSES\.txt$|\.built-from$/;
/** Packages that older releases bundled: these files import them from the checkout instead. */
const BUNDLED: Readonly<Record<string, string>> = {
  "dist/vendor/htmlparser2.js": 'export * from "htmlparser2";',
  "dist/vendor/koa-router.js": 'export { default } from "@koa/router";',
  "dist/vendor/koa.js": 'export { default } from "koa";',
  "dist/vendor/prom-client.js": 'export * from "prom-client";',
  "dist/vendor/rate-limiter-flexible.js": 'export * from "rate-limiter-flexible";',
  "dist/vendor/uuid.js": 'export * from "uuid";',
};
/** Above this the fixture is too large to be committed with each version, bytes. */
const MAX_BYTES = 220_000;

const [revision] = process.argv.slice(2);
if (revision === undefined) {
  console.error("usage: npm run previous -- REVISION (a tag or commit)");
  process.exit(2);
}
const commit = git("rev-parse", "--short", `${revision}^{commit}`);
const folder = fs.mkdtempSync(join(tmpdir(), "paihao-previous-"));
try {
  execFileSync("sh", ["-c", `git archive ${commit} | tar -x -C "$0"`, folder], { cwd: ROOT });
  fs.symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  execFileSync(process.execPath, ["--import", "tsx", "scripts/build.ts"], { cwd: folder, stdio: "inherit" });
  const files: Record<string, string> = { "package.json": fs.readFileSync(join(folder, "package.json"), "utf8") };
  for (const path of filesIn(join(folder, "dist")).map((name) => `dist/${name}`)) {
    if (LEFT_OUT.test(path)) continue;
    const text = BUNDLED[path] ?? fs.readFileSync(join(folder, path), "utf8");
    files[path] = extname(path) === ".js" && !path.includes("/pages/") ? minified(text) : text;
  }
  const bytes = brotliCompressSync(JSON.stringify({ commit, files }), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
  });
  if (bytes.length > MAX_BYTES) throw new Error(`${bytes.length} bytes are more than ${MAX_BYTES}`);
  fs.writeFileSync(TARGET, bytes);
  console.log(`${TARGET}: ${commit}, ${Object.keys(files).length} files, ${bytes.length} bytes`);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}

/** Smaller, with the names that the server itself reads. */
function minified(code: string): string {
  return transformSync(code, { minifyWhitespace: true, format: "esm", target: "node20" }).code;
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}
