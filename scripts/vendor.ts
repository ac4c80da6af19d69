/**
 * Bundles packages into the build that would otherwise be most of what a user installs: koa with its router is 38 packages, prom-client
 * brings 4.5 MB of which it uses next to nothing, and of the others we use one or two names. Nothing that users import or see in types
 * is bundled. In development they are packages like any other; their licences are in the build.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { buildSync } from "esbuild";

const BUNDLED = [
  ...["koa", "@koa/router", "htmlparser2", "marked", "prom-client", "rate-limiter-flexible", "string-width", "uuid"],
  ...["api", "context-async-hooks", "resources", "sdk-metrics", "sdk-trace"].map((name) => `@opentelemetry/${name}`),
  ...["metrics-otlp-http", "metrics-otlp-proto", "trace-otlp-http", "trace-otlp-proto"].map(
    (name) => `@opentelemetry/exporter-${name}`,
  ),
];
/** Below dist. */
const FOLDER = "vendor";
/** In there: what is bundled, and under which licences. */
const LICENCES = "LICENSES.txt";
/** The packages are CommonJS and require modules of Node, for which ES modules need this. */
const BANNER = `import { createRequire as __createRequire } from "node:module";\nconst require = __createRequire(import.meta.url);`;

const fileOf = (name: string): string => `${name.replace("@", "").replace("/", "-")}.js`;

/**
 * Bundles what the given modules of `dist` import, and lets them import that.
 * @param modules paths below dist
 */
export function vendor(root: string, dist: string, modules: readonly string[]): void {
  /** By package: what is imported of it. */
  const used = new Map<string, Set<string>>();
  for (const path of modules) {
    const file = join(dist, path);
    const code = readFileSync(file, "utf8");
    const up = "../".repeat(path.split("/").length - 1) || "./";
    const changed = code.replaceAll(/^import ([^;"]*?) from "([^"]+)";/gm, (whole, clause: string, name: string) => {
      if (!BUNDLED.includes(name)) return whole;
      const names = used.get(name) ?? new Set();
      used.set(name, names);
      for (const imported of namesOf(clause)) names.add(imported);
      return `import ${clause} from "${up}${FOLDER}/${fileOf(name)}";`;
    });
    if (changed !== code) writeFileSync(file, changed);
  }
  if (used.size > 0) bundle(root, join(dist, FOLDER), used);
}

/** The exports that an import names: of `Koa, { type as kind }` those are `default` and `type`. */
function namesOf(clause: string): string[] {
  const [, first = "", braces = ""] = /^(?:([\w$]+),?)?\s*(?:\{(.*)\})?$/s.exec(clause) ?? [];
  const named = braces.split(",").map((each) => each.trim().split(/\s+as\s+/)[0] ?? "");
  return [...(first === "" ? [] : ["default"]), ...named.filter((name) => name !== "")];
}

function bundle(root: string, folder: string, used: ReadonlyMap<string, ReadonlySet<string>>): void {
  mkdirSync(folder, { recursive: true });
  // An entry for each, which its bundle replaces.
  const entryPoints = [...used].map(([name, names]) => {
    const entry = join(folder, fileOf(name));
    writeFileSync(entry, `export { ${[...names].join(", ")} } from ${JSON.stringify(name)};\n`);
    return entry;
  });
  const { metafile } = buildSync({
    entryPoints,
    outdir: folder,
    bundle: true,
    // What two of them share is there once.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    banner: { js: BANNER },
    // Names stay, for stack traces; comments of licences are in a file of their own.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    allowOverwrite: true,
    metafile: true,
    logLevel: "warning",
    absWorkingDir: root,
  });
  writeFileSync(join(folder, LICENCES), licencesOf(root, Object.keys(metafile.inputs)));
}

/** The packages of which there is anything in a build, as `name@version`. */
export function bundledIn(dist: string): string[] {
  const heads = readFileSync(join(dist, FOLDER, LICENCES), "utf8").matchAll(/^(.+)\n---$/gm);
  return [...heads].flatMap(([, names = ""]) => names.split(", ").map((each) => each.replace(" ", "@")));
}

/** The licences of all packages that have a file among the inputs of a bundle. */
function licencesOf(root: string, inputs: readonly string[]): string {
  const folders = new Set<string>();
  for (const input of inputs) {
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input.replaceAll(sep, "/"))?.[0];
    if (folder !== undefined) folders.add(join(root, folder));
  }
  /** By text: many packages have the same. */
  const packages = new Map<string, string[]>();
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8").trim();
    packages.set(text, [...(packages.get(text) ?? []), `${name} ${version}`]);
  }
  return [...packages].map(([text, names]) => `${names.join(", ")}\n---\n\n${text}\n`).join("\n\n");
}
