import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "../../errors.ts";
import { CommandError, EXIT } from "../exit.ts";
import { note, print } from "../terminal/print.ts";
import { OWN_FOLDER, packageSource, packInto, runNpm } from "./package-source.ts";
import { type ProjectOptions, projectFiles } from "./project.ts";
import { pythonPackage } from "./python-project.ts";

interface InitOptions {
  readonly install: boolean;
  readonly from?: string;
  readonly python?: boolean;
}

/** What a folder may have already. */
const ALLOWED = [".git", "README.md"];

/**
 * Writes a project into a new or empty folder, and installs it. Prints the paths of the files.
 * @throws CommandError if the folder has anything but a README.md and .git (nothing is written then), or if npm fails
 */
export async function init(dir: string, { install, from, python = false }: InitOptions): Promise<void> {
  const root = path.resolve(dir);
  const source = await packageSource(from);
  const there = await namesIn(root);
  const others = there.filter((name) => !ALLOWED.includes(name));
  if (others.length > 0) {
    throw new CommandError(
      EXIT.refused,
      `${root} is not empty: it has ${others.slice(0, 3).join(", ")}${others.length > 3 ? " …" : ""}; nothing was written. Choose a new folder`,
    );
  }
  const paihao = source.spec ?? (await packInto(root, source));
  note(`paihao is ${paihao}, from ${source.from}`);
  const { typescript = false } = process.features as { readonly typescript?: string | false };
  const options: ProjectOptions = {
    name: nameOf(root),
    paihao,
    zod: source.zod,
    stripsTypes: typescript !== false,
    python: python ? await pythonPackage(OWN_FOLDER) : undefined,
  };
  for (const [name, text] of Object.entries(projectFiles(options))) {
    if (there.includes(name)) {
      note(`${path.join(dir, name)} already exists, and stays as it is`);
      continue;
    }
    await write(path.join(root, name), text);
    print(path.join(dir, name));
  }
  if (install) await installIn(root);
  sayHowToGoOn(root, dir, install, python);
}

/** The names in a folder; none if it does not exist. @throws CommandError */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new CommandError(EXIT.failed, `${folder} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Fails if the file exists: it may have appeared since the check. */
async function write(file: string, text: string): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    throw new CommandError(EXIT.failed, `${file} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

function sayHowToGoOn(root: string, dir: string, install: boolean, python: boolean): void {
  const into = root === process.cwd() ? "" : `cd ${quoted(dir)} && `;
  const submit = `npx paihao submit greet '{"name":"Ada"}' --watch`;
  note("");
  const then = `${into}${python ? "npm run worker, and in a third: " : ""}${submit}`;
  note(`try:  ${into}${install ? "" : "npm install && "}npm start        then, in another terminal: ${then}`);
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
