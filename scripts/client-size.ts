/**
 * Part of `npm run check`: what `paihao/client`, as the package has it, adds to a page. Fails if it is larger than promised, or
 * imports anything.
 */
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";
import packageJson from "../package.json" with { type: "json" };
import { ROOT } from "../test/shared/root.ts";
import { build as compile } from "./build.ts";

const MAX_BYTES = 6600;

compile(ROOT);
const { outputFiles, metafile } = await build({
  entryPoints: [packageJson.exports["./client"].default],
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser",
  write: false,
  metafile: true,
  absWorkingDir: ROOT,
  outdir: "unused",
});
const bytes = outputFiles[0]?.contents ?? new Uint8Array();
const gzipped = gzipSync(bytes, { level: 9 }).length;
const outside = Object.keys(metafile.inputs).filter((file) => !file.startsWith("dist/client/"));
console.log(
  `client: ${bytes.length} bytes minified, ${gzipped} gzipped (at most ${MAX_BYTES}), ${brotliCompressSync(bytes).length} with brotli`,
);
if (outside.length > 0) console.log(`client: it also has ${outside.join(", ")}`);
if (gzipped > MAX_BYTES || outside.length > 0) process.exitCode = 1;
