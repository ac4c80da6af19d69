/**
 * `npm run check:client`: what `paihao/client` adds to a page. Fails if it is larger than it is said to be, or imports anything.
 */
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ROOT } from "../testbed/root.ts";

const MOST_BYTES = 6000;

const { outputFiles, metafile } = await build({
  entryPoints: [join(ROOT, "src/client/index.ts")],
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  write: false,
  metafile: true,
  absWorkingDir: ROOT,
  outdir: "unused",
});
const bytes = outputFiles[0]?.contents ?? new Uint8Array();
const gzipped = gzipSync(bytes, { level: 9 }).length;
const outside = Object.keys(metafile.inputs).filter((file) => !file.startsWith("src/client/"));
console.log(
  `client: ${bytes.length} bytes minified, ${gzipped} gzipped (at most ${MOST_BYTES}), ${brotliCompressSync(bytes).length} with brotli`,
);
if (outside.length > 0) console.log(`client: it also has ${outside.join(", ")}`);
if (gzipped > MOST_BYTES || outside.length > 0) process.exitCode = 1;
