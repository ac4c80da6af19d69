/**
 * `npm run check:package`: packs the package as npm would publish it, and checks what is in it, with publint, and with "Are the types
 * wrong?". Prints its size; says what is wrong and exits with 1.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, extname, join, posix } from "node:path";
import { messageOf } from "../src/errors.ts";
import { ROOT } from "../test/shared/root.ts";
import { filesIn } from "./files.ts";
import { megabytes, type Packed, pack, run } from "./packed.ts";

/** What the package may contain besides Markdown: top folders, and the kinds of files in each. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  dist: [".js", ".json", ".d.ts", ".lua", ".css", ".html", ".svg", ".txt", ".png", ".gz", ""],
  deploy: [".env", ".json", ".service", ".tpl", ".txt", ".yaml", ".yml"],
  docs: [".png"],
  examples: [".css", ".ts", ".js", ".mjs", ".html", ".py", ".sh"],
  bench: [".svg"],
};
const TOP = [
  "package.json",
  "README.md",
  "LICENSE",
  ".env.example",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
];

/** The bill of materials, see scripts/sbom.ts. */
const SBOM = "dist/sbom.cdx.json";
/** What is loaded into Redis. */
const LIBRARY = "dist/store/library/library.lua";

/** What is wrong with the files of a package. */
function faultsOf({ files }: Packed): string[] {
  const has = new Set(files);
  // The Lua files are joined to one, and compiler settings are not shipped, see scripts/build.ts.
  const assets = filesIn(join(ROOT, "src")).filter((path) => ![".ts", ".lua", ".json"].includes(extname(path)));
  const entries: unknown[] = [];
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"), (key, value) => {
    if (["types", "default", "paihao"].includes(key) && typeof value === "string") entries.push(posix.normalize(value));
    return value;
  });
  const needed = [...TOP, SBOM, LIBRARY, ...assets.map((path) => `dist/${path}`), ...entries.map(String)];
  return [
    ...needed.filter((path) => !has.has(path)).map((path) => `${path} is missing`),
    ...files.filter((path) => !isWanted(path)).map((path) => `${path} does not belong in the package`),
    ...files.filter((path) => /\.(?:js|css)$/.test(path)).flatMap(mapsOf),
    ...files
      .filter((path) => path.endsWith(".md") && !path.startsWith("dist/"))
      .flatMap((path) => deadLinks(path, has)),
  ];
}

function isWanted(path: string): boolean {
  if (TOP.includes(path)) return true;
  if (/\.test\.|(?:^|\/)test\//.test(path)) return false;
  const [folder = ""] = path.split("/");
  const kind = path.endsWith(".d.ts") ? ".d.ts" : extname(path);
  return folder in KINDS && (kind === ".md" || KINDS[folder]?.includes(kind) === true);
}

function mapsOf(path: string): string[] {
  const named = /[#@] sourceMappingURL=(\S+\.map)\b/.exec(readFileSync(join(ROOT, path), "utf8").slice(-300))?.[1];
  return named === undefined ? [] : [`${path} names the source map ${named}, which is missing`];
}

/** Links of a document to files that are not in the package. */
function deadLinks(path: string, has: ReadonlySet<string>): string[] {
  const text = readFileSync(join(ROOT, path), "utf8").replaceAll(/^```.*?^```/gms, "");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target.replace(/#.*$/, ""));
  return targets
    .filter((target) => target !== "" && !/^[a-z]+:/.test(target))
    .map((target) => posix.join(dirname(path), target))
    .map((target) => target.replace(/\/$/, ""))
    .filter((target) => !has.has(target) && ![...has].some((file) => file.startsWith(`${target}/`)))
    .map((target) => `${path} links to ${target}, which is not in the package`);
}

const folder = mkdtempSync(join(tmpdir(), "paihao-package-"));
try {
  const packed = pack(folder);
  const faults = faultsOf(packed);
  const bin = (name: string) => join(ROOT, "node_modules/.bin", name);
  const tools = [
    ["publint", packed.tarball, "--strict"],
    // The package has only ES modules, so it is intended that CommonJS cannot require it in old versions of Node.
    ["attw", packed.tarball, "--profile", "esm-only", "--no-emoji"],
  ];
  for (const [tool = "", ...args] of tools) {
    try {
      run(bin(tool), args, ROOT);
    } catch (error) {
      faults.push(messageOf(error));
    }
  }
  for (const fault of faults) console.log(`✘ ${fault}`);
  const { files, packedBytes, unpackedBytes } = packed;
  console.log(`package: ${files.length} files, ${megabytes(packedBytes)} packed, ${megabytes(unpackedBytes)} unpacked`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
