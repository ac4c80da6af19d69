/**
 * `npm run check:floors`: holds src to its architecture. Each floor imports only the floors below it, no files import
 * each other in a circle (type-only imports count), and what touches the process, the environment or the Lua files does
 * so in the one place that is meant for it.
 */
import { readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";
import { filesIn } from "./files.ts";
import { lineAt, readSource, type SourceText } from "./source-text.ts";

/** A rule that a line of src breaks. */
export interface Violation {
  /** Relative to src, with `/`. */
  readonly file: string;
  readonly line: number;
  readonly rule: string;
}

const LEAVES = ["leaves"];
const TO_ENGINE = ["leaves", "store", "engine"];
const ALL_ROLES = [...TO_ENGINE, "http", "workers", "webhooks"];

/** What each floor may import beside itself. */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  leaves: [],
  store: LEAVES,
  engine: ["leaves", "store"],
  http: TO_ENGINE,
  workers: TO_ENGINE,
  webhooks: TO_ENGINE,
  // Handlers are written as users write theirs: against the package's public face.
  digest: ["leaves", "index"],
  handlers: ["leaves", "digest", "index"],
  index: [...ALL_ROLES, "client", "digest"],
  // Runs in browsers too: nothing of the server, no package, no Node.
  client: [],
  main: [...ALL_ROLES, "handlers", "index"],
  cli: [...ALL_ROLES, "handlers", "index", "client", "main"],
};

/** Files that are a process of their own, each with its reason. */
const PROCESS_ENTRIES: ReadonlyMap<string, string> = new Map([
  ["store/servers/embedded-server.ts", "the embedded store's own process"],
  ["workers/sandbox/sandbox-main.ts", "the process of a task that is kept apart"],
]);

const isProcessOwner = (file: string): boolean =>
  file === "main.ts" || file.startsWith("cli/") || PROCESS_ENTRIES.has(file);

/** Words that only some files may use. Names are looked for outside comments and literals, or in all code. */
const WORDS: readonly { find: RegExp; within: "bare" | "code"; allowed(file: string): boolean; rule: string }[] = [
  {
    find: /(?<![\w$#.])process\s*\??\.\s*env\b|\benv\b[^;{}]*\}\s*=\s*process\b/g,
    within: "bare",
    allowed: (file) => file === "config.ts",
    rule: "only config.ts reads process.env",
  },
  {
    find: /(?<![\w$#.])process\s*\??\.\s*(?:exit|exitCode|abort|reallyExit|on|once|addListener|prependListener|off)\b/g,
    within: "bare",
    allowed: isProcessOwner,
    rule: "only main, cli and the entries of child processes touch signals and exit; name nothing else `process`",
  },
  {
    find: /(?:from\s*|import\s*\(?\s*)["'](?:node:)?process["']/g,
    within: "code",
    allowed: isProcessOwner,
    rule: "process is used as the global, where the checks see it",
  },
  {
    find: /["'`][^"'`\n]*\.lua\b/g,
    within: "code",
    allowed: (file) => file === "store/scripts/script.ts",
    rule: "only store/scripts/script.ts reads Lua files",
  },
];

/** Everything with a module name: import and export … from, type-only ones too, import("…"), import "…", require("…"). */
const IMPORT =
  /\b(?:import|export)\b[^;"'`]*?\bfrom\s*["']|\bimport\s*["']|\bimport\s*\(\s*["'`]|\brequire(?:\.resolve)?\s*\(\s*["'`]/g;

interface Import {
  readonly line: number;
  readonly name: string;
}

/** Checks every TypeScript file below `src`; the violations come by file and line. */
export function checkFloors(src: string): Violation[] {
  const files = filesIn(src).filter((path) => /\.[mc]?tsx?$/.test(path));
  const violations: Violation[] = [];
  const graph = new Map<string, Map<string, number>>();
  for (const file of files) {
    const text = readSource(readFileSync(join(src, file), "utf8"));
    const targets = new Map<string, number>();
    graph.set(file, targets);
    if (!(floorOf(file) in FLOORS)) {
      violations.push({ file, line: 1, rule: `no floor for src/${floorOf(file)}: give it one in scripts/floors.ts` });
      continue;
    }
    for (const { line, name } of importsOf(text)) {
      const target = targetOf(file, name);
      if (target !== undefined && files.includes(target) && !targets.has(target)) targets.set(target, line);
      const rule = brokenRule(file, name, target, files);
      if (rule !== undefined) violations.push({ file, line, rule });
    }
    for (const { find, within, allowed, rule } of WORDS) {
      if (allowed(file)) continue;
      for (const match of text[within].matchAll(find)) {
        violations.push({ file, line: lineAt(text.raw, match.index), rule });
      }
    }
  }
  violations.push(...cyclesOf(graph));
  return violations.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
}

/** The floor of a file: its top folder; of a file directly in src, `main`, `index` or `leaves`. */
function floorOf(file: string): string {
  const slash = file.indexOf("/");
  if (slash !== -1) return file.slice(0, slash);
  return file === "main.ts" || file === "index.ts" ? file.slice(0, -".ts".length) : "leaves";
}

function importsOf(text: SourceText): Import[] {
  return [...text.bare.matchAll(IMPORT)].map((match) => {
    const start = match.index + match[0].length;
    const end = text.bare.indexOf(match[0].at(-1) ?? "", start);
    return { line: lineAt(text.raw, start), name: text.code.slice(start, end) };
  });
}

/** The file of src that a module name means; undefined for a package or a module of Node. */
function targetOf(file: string, name: string): string | undefined {
  if (name === "paihao") return "index.ts";
  return name.startsWith(".") ? posix.normalize(posix.join(posix.dirname(file), name)) : undefined;
}

function brokenRule(file: string, name: string, target: string | undefined, files: string[]): string | undefined {
  const floor = floorOf(file);
  if (target === undefined) {
    return floor === "client" ? `client runs in browsers and imports no package or Node module: ${name}` : undefined;
  }
  if (!files.includes(target)) return `${name} is no TypeScript file of src`;
  const other = floorOf(target);
  if (name === "paihao" && floor !== "handlers" && floor !== "digest") {
    return 'only handlers and digest import "paihao", all others by path';
  }
  if (other === floor) return undefined;
  const below = FLOORS[floor] ?? [];
  if (below.includes(other)) return undefined;
  return `${floor} must not import ${other} (${target}), only ${below.length > 0 ? below.join(", ") : "nothing"}`;
}

/** One violation for each import that closes a circle, found depth first. */
function cyclesOf(graph: ReadonlyMap<string, ReadonlyMap<string, number>>): Violation[] {
  const found: Violation[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    if (done.has(file)) return;
    path.push(file);
    for (const [target, line] of graph.get(file) ?? []) {
      const from = path.indexOf(target);
      if (from === -1) visit(target);
      else found.push({ file, line, rule: `import cycle: ${[...path.slice(from), target].join(" → ")}` });
    }
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

if (process.argv[1] === import.meta.filename) {
  const src = resolve(import.meta.dirname, "../src");
  const violations = checkFloors(src);
  for (const { file, line, rule } of violations) console.error(`src/${file}:${line}  ${rule}`);
  if (violations.length === 0) console.error("floors: every import points down, no cycle");
  else process.exitCode = 1;
}
