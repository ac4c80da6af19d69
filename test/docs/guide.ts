import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { builtSettings } from "../helpers/build.ts";
import { runLine } from "../helpers/cli.ts";
import { startServer } from "../helpers/http/server.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { ROOT } from "../shared/root.ts";
import { commandsIn, runCommands } from "../shared/shown-commands.ts";

/** What a guide's server needs, given the folder of its files. */
export type GuideEnv = (folder: string) => Readonly<Record<string, string>>;

/** As Node does from 22.18 on, in every version that the tests run under; and what npx finds in a project that has installed it. */
const SHELL = 'node() { command node --import tsx "$@"; }; npx() { "$@"; };';

export function readGuide(guide: string): string {
  return readFileSync(path.join(ROOT, "docs", guide), "utf8");
}

/** A new folder in which the code of a guide finds the package. */
export function guideFolder(): string {
  mkdirSync(path.join(ROOT, ".cache"), { recursive: true });
  return mkdtempSync(path.join(ROOT, ".cache/guide-"));
}

/** The blocks of TypeScript in a guide, by the path in their first line; a block without one is `main.ts`. */
function filesOf(guide: string): Map<string, string> {
  const blocks = [...readGuide(guide).matchAll(/^```ts\n(?:\/\/ (\S+\.ts)\n)?(.*?)^```/gms)];
  return new Map(blocks.map(([, name = "main.ts", code = ""]) => [name, code]));
}

/** Writes the code of a guide to a folder where it finds the package, and checks its types; returns the names of the files. */
export function writeGuide(guide: string, folder: string): string[] {
  const files = filesOf(guide);
  for (const [name, code] of files) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, code);
  }
  if (files.size === 0) return [];
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ extends: builtSettings(), include: ["**/*.ts"] }));
  try {
    execFileSync(process.execPath, [path.join(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", folder], {
      encoding: "utf8",
      stdio: "pipe",
    });
  } catch (error) {
    throw new Error(`the code of ${guide} is wrong: ${(error as { stdout?: string }).stdout}`);
  }
  return [...files.keys()];
}

/** Runs all commands of a guide in order, in a folder with its code, on a server with the handlers in `handlers/`. */
export async function runGuide(guide: string, env: GuideEnv = () => ({})): Promise<void> {
  const folder = guideFolder();
  try {
    const files = writeGuide(guide, folder);
    const hasHandlers = files.some((name) => name.startsWith("handlers/"));
    const server = await startServer({ HANDLERS: hasHandlers ? path.join(folder, "handlers") : "", ...env(folder) });
    try {
      const variables = { PAIHAO_URL: server.url, REDIS_URL: storeUrl(), KEY_PREFIX: server.prefix, PORT: "0" };
      await runCommands(commandsIn(readGuide(guide)), {
        host: new URL(server.url).host,
        cwd: folder,
        run: (line) => runLine(`${SHELL} ${line}`, { cwd: folder, env: variables }),
      });
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
