import { lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "../../errors.ts";
import { CommandError, EXIT } from "../exit.ts";
import { confirm } from "../terminal/confirm.ts";
import { note, print } from "../terminal/print.ts";
import { installedAs, isModule, type Merge, mergeLines, mergeManifest, type Scripts, sameVariable } from "./merge.ts";
import { runNpm } from "./npm.ts";
import { packageSource, packInto, VENDOR } from "./package-source.ts";
import { LINES, manifestNeeds, type ProjectOptions, projectFiles } from "./project.ts";

interface InitOptions {
  readonly install: boolean;
  readonly from?: string;
  readonly yes?: boolean;
}

/** Files of a project that a folder may already have: those stay as they are. */
const KEPT = ["README.md", "tsconfig.json", "compose.yaml"];
/** Files to which missing entries are added. */
const MERGED = ["package.json", ...Object.keys(LINES)];

/**
 * Writes a project into a folder, which may have other files, and installs it. Prints the paths of the files.
 * @throws CommandError if a handler or test of its name exists, or the person does not want files to be changed (nothing is written then),
 * or if npm fails
 */
export async function init(dir: string, { install, from, yes = false }: InitOptions): Promise<void> {
  const root = path.resolve(dir);
  const source = await packageSource(from);
  const { typescript = false } = process.features as { readonly typescript?: string | false };
  const there = await filesIn(root, MERGED);
  const before = there["package.json"];
  const known = before === undefined ? source.spec : (installedAs(before, "paihao") ?? source.spec);
  const options: ProjectOptions = {
    name: nameOf(root),
    paihao: known ?? `file:${VENDOR}`,
    zod: source.zod,
    stripsTypes: typescript !== false,
    extension: before === undefined || isModule(before) ? "ts" : "mts",
  };
  const names = Object.keys(projectFiles(options));
  const kept = await existing(root, KEPT);
  await refuseClashes(
    root,
    names.filter((name) => !KEPT.includes(name) && !MERGED.includes(name)),
  );
  const changes = Object.entries(merged(there, options).files).filter(([, { added }]) => added.length > 0);
  const lines = changes.map(([name, { added }]) => `${path.join(dir, name)} gets ${added.join(", ")}`);
  for (const line of lines) note(line);
  if (
    lines.length > 0 &&
    !yes &&
    !(await confirm("Add that to the existing files?", "existing files would be changed"))
  ) {
    throw new CommandError(EXIT.failed, "nothing was written");
  }
  const paihao = known ?? (await packInto(root, source));
  const isOwn = known === undefined || known === source.spec;
  note(`paihao is ${paihao}${isOwn ? `, from ${source.from}` : ", as package.json says"}`);
  const { files, scripts } = merged(there, { ...options, paihao });
  for (const [name, text] of Object.entries(projectFiles({ ...options, paihao }))) {
    if (kept.includes(name)) {
      note(`${path.join(dir, name)} already exists, and stays as it is`);
      continue;
    }
    const merge = files[name];
    if (merge?.added.length === 0) continue;
    await write(path.join(root, name), merge?.text ?? text, merge === undefined);
    print(path.join(dir, name));
  }
  if (install) await installIn(root);
  sayHowToGoOn(root, dir, { install, scripts });
}

/** The existing files, with what is added to them. */
function merged(
  there: Readonly<Record<string, string>>,
  options: ProjectOptions,
): { files: Readonly<Record<string, Merge>>; scripts: Scripts } {
  const files: Record<string, Merge> = {};
  let scripts: Scripts = { start: "start", test: "test" };
  for (const [name, text] of Object.entries(there)) {
    if (name === "package.json") {
      const manifest = mergeManifest(text, manifestNeeds(options));
      files[name] = manifest;
      scripts = manifest.scripts;
    } else if (name === ".env") files[name] = mergeLines(text, LINES[name], sameVariable);
    else if (name === ".gitignore") files[name] = mergeLines(text, LINES[name]);
  }
  return { files, scripts };
}

/** @param isNew fails if the file exists: it may have appeared since the check */
async function write(file: string, text: string, isNew: boolean): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text, { flag: isNew ? "wx" : "w" });
  } catch (error) {
    throw new CommandError(EXIT.failed, `${file} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

function sayHowToGoOn(root: string, dir: string, { install, scripts }: { install: boolean; scripts: Scripts }): void {
  const into = root === process.cwd() ? "" : `cd ${quoted(dir)} && `;
  const first = install ? "" : "npm install && ";
  const run = (name: string) => (name.includes(":") ? `npm run ${name}` : `npm ${name}`);
  const submit = `npx paihao submit greet '{"name":"Ada"}' --watch`;
  note("");
  note(`try:  ${into}${first}${run(scripts.start)}        then, in another terminal: ${into}${submit}`);
  note(`test: ${into}${run(scripts.test)}`);
}

/** A word for a shell. */
function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A name that npm accepts. */
function nameOf(root: string): string {
  const name = path
    .basename(root)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .slice(0, 200);
  return name === "" || name === "paihao" || name === "node_modules" ? "my-tasks" : name;
}

async function refuseClashes(root: string, names: readonly string[]): Promise<void> {
  const clashes = await existing(root, names);
  if (clashes.length === 0) return;
  throw new CommandError(
    EXIT.refused,
    `${root} already has ${clashes.join(", ")}; nothing was written. Choose another folder, or move them away`,
  );
}

/** Which of these files exist. */
async function existing(root: string, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) if ((await looked(path.join(root, name), lstat)) !== undefined) found.push(name);
  return found;
}

/** The texts of those of these files that exist. */
async function filesIn(root: string, names: readonly string[]): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const name of names) {
    const text = await looked(path.join(root, name), (file) => readFile(file, "utf8"));
    if (text !== undefined) texts[name] = text;
  }
  return texts;
}

/** What a check of a file finds; undefined if it does not exist. @throws CommandError */
async function looked<T>(file: string, look: (file: string) => Promise<T>): Promise<T | undefined> {
  try {
    return await look(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new CommandError(EXIT.failed, `${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

async function installIn(root: string): Promise<void> {
  note("");
  note("npm install");
  // Its output is for the person, like everything except the paths.
  const { how } = await runNpm(["install", "--no-audit", "--no-fund"], root, { show: true });
  if (how === undefined) return;
  throw new CommandError(
    EXIT.failed,
    `the project is written, but npm install failed (${how}): run it again in ${root}`,
  );
}
