import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "../../errors.ts";
import { CommandError, EXIT } from "../exit.ts";
import { note, print } from "../terminal/print.ts";
import { projectFiles } from "./project.ts";

const MANIFEST = new URL("../../../package.json", import.meta.url);

/**
 * Writes a project into a folder, which may have other files, and installs it. Prints the paths of the files.
 * @throws CommandError if a file of the project is there already, and then nothing is written; or if npm fails
 */
export async function init(dir: string, { install, from }: { install: boolean; from?: string }): Promise<void> {
  const root = path.resolve(dir);
  const { version, dependencies } = JSON.parse(await readFile(MANIFEST, "utf8"));
  const { typescript = false } = process.features as { readonly typescript?: string | false };
  const files = projectFiles({
    name: nameOf(root),
    paihao: from === undefined ? `^${version}` : specOf(from),
    zod: dependencies.zod,
    stripsTypes: typescript !== false,
  });
  await refuseClashes(root, Object.keys(files));
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name);
    try {
      await mkdir(path.dirname(file), { recursive: true });
      // It may have appeared since it was looked for.
      await writeFile(file, text, { flag: "wx" });
    } catch (error) {
      throw new CommandError(EXIT.failed, `${file} cannot be written: ${messageOf(error)}`, { cause: error });
    }
    print(path.join(dir, name));
  }
  if (install) await runNpm(root);
  const into = root === process.cwd() ? "" : `cd ${quoted(dir)} && `;
  const first = install ? "" : "npm install && ";
  note("");
  note(
    `try:  ${into}${first}npm start        then, in another terminal: npx paihao submit greet '{"name":"Ada"}' --watch`,
  );
  note(`test: ${into}npm test`);
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

/** A path is relative to this directory, and not to that of the project. */
function specOf(from: string): string {
  return /^\.{0,2}\//.test(from) ? `file:${path.resolve(from)}` : from;
}

async function refuseClashes(root: string, names: readonly string[]): Promise<void> {
  const clashes: string[] = [];
  for (const name of names) if (await exists(path.join(root, name))) clashes.push(name);
  if (clashes.length === 0) return;
  throw new CommandError(
    EXIT.refused,
    `${root} has ${clashes.join(", ")} already; nothing was written. Choose another folder, or move them away`,
  );
}

async function exists(file: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return false;
    throw new CommandError(EXIT.failed, `${file} cannot be looked at: ${messageOf(error)}`, { cause: error });
  }
}

async function runNpm(root: string): Promise<void> {
  note("");
  note("npm install");
  // Its output is for the person, like everything but the paths. On Windows npm is a script, which needs a shell.
  const npm = spawn("npm", ["install", "--no-audit", "--no-fund"], {
    cwd: root,
    stdio: ["ignore", process.stderr, process.stderr],
    shell: process.platform === "win32",
  });
  const how = await once(npm, "exit").then(
    ([code, signal]) => (code === 0 ? undefined : `exit code ${code ?? signal}`),
    messageOf,
  );
  if (how === undefined) return;
  throw new CommandError(
    EXIT.failed,
    `the project is written, but npm install failed (${how}): run it again in ${root}`,
  );
}
