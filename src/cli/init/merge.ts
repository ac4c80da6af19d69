import { CommandError, EXIT } from "../exit.ts";

/** An existing file of the project, with the additions. */
export interface Merge {
  readonly text: string;
  /** What is added, for the person who is asked; empty if nothing is missing. */
  readonly added: readonly string[];
}

type Members = Record<string, unknown>;

/**
 * A package.json with what the project needs. Existing entries stay: a script whose name is taken gets another name.
 * @throws CommandError if it is not a JSON object
 */
export function mergeManifest(before: string, { scripts, dependencies }: ManifestNeeds): Merge & { scripts: Scripts } {
  const manifest = objectOf(before);
  const added: string[] = [];
  const set = (member: string, name: string, value: string) => {
    const members = membersOf(manifest, member);
    if (members[name] === value) return;
    manifest[member] = { ...members, [name]: value };
    added.push(`${member}.${name}`);
  };
  const named = Object.entries(scripts).map(([name, line]) => {
    const taken = membersOf(manifest, "scripts")[name];
    return [name, taken === undefined || taken === line ? name : `${name}:tasks`, line] as const;
  });
  for (const [, name, line] of named) set("scripts", name, line);
  for (const [name, spec] of Object.entries(dependencies)) {
    if (dependencyOf(manifest, name) === undefined) set("dependencies", name, spec);
  }
  const indent = /^[ \t]+(?=")/m.exec(before)?.[0] ?? 2;
  return {
    text: added.length > 0 ? `${JSON.stringify(manifest, null, indent)}\n` : before,
    added,
    scripts: Object.fromEntries(named) as Scripts,
  };
}

/** What a package.json installs as a package; undefined for a file or folder outside of the project, which is determined anew. */
export function installedAs(before: string, name: string): string | undefined {
  return dependencyOf(objectOf(before), name);
}

function dependencyOf(manifest: Members, name: string): string | undefined {
  const spec = membersOf(manifest, "dependencies")[name] ?? membersOf(manifest, "devDependencies")[name];
  return typeof spec === "string" && !/^file:(?:\.\.|\/)/.test(spec) ? spec : undefined;
}

const membersOf = (manifest: Members, member: string): Members => (manifest[member] ?? {}) as Members;

/** What a package.json gets. */
export interface ManifestNeeds {
  readonly scripts: Readonly<Record<"start" | "test", string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** The names under which the scripts were added. */
export type Scripts = Readonly<Record<"start" | "test", string>>;

/** Whether Node treats the TypeScript files of a package as ES modules, whatever their content. @throws CommandError */
export function isModule(manifest: string): boolean {
  return objectOf(manifest).type === "module";
}

function objectOf(manifest: string): Members {
  try {
    const value: unknown = JSON.parse(manifest);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  } catch {
    // Thrown below.
  }
  throw new CommandError(EXIT.refused, "package.json exists and is not a JSON object; nothing was written");
}

/** A text with the missing lines appended. */
export function mergeLines(before: string, wanted: readonly string[], isThere = sameLine): Merge {
  const lines = before.split(/\r?\n/);
  const added = wanted.filter((line) => !lines.some((other) => isThere(other, line)));
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  return { text: added.length > 0 ? `${before}${gap}${added.join("\n")}\n` : before, added };
}

/** `node_modules`, `node_modules/` and `/node_modules/` of a .gitignore are the same. */
function sameLine(a: string, b: string): boolean {
  const bare = (line: string) => line.trim().replace(/^\/|\/$/g, "");
  return bare(a) === bare(b);
}

/** Whether two lines of an .env file set the same variable. */
export function sameVariable(a: string, b: string): boolean {
  const name = (line: string) => /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1];
  return name(a) !== undefined && name(a) === name(b);
}
