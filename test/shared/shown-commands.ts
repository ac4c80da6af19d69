import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";

/** How long a command may take to print what its page says. */
const DONE_MS = 30_000;

/** A command of a page, and what the page says of its outcome. */
export interface ShownCommand {
  readonly command: string;
  /** For curl the status of the response, otherwise the exit code. */
  readonly codes: readonly number[];
  /** Whether the command is repeated until it gives the last code. */
  readonly waits: boolean;
  readonly contains: readonly string[];
}

/** What a command has printed, its code, and of curl the X-Request-Id of the response. */
interface Outcome {
  readonly output: string;
  readonly code: number;
  readonly id: string;
}

/** Runs a line of a shell that is not curl. */
export type RunLine = (line: string) => Promise<{ readonly code: number; readonly printed: string }>;

/**
 * The commands in the `sh` blocks of a page, in order. A line that ends with `\` continues in the next one, and an indented line belongs
 * to the one before. After `# →` comes the expected code: `202`, `200 or 202`, or `404, then 200` for a command that is repeated
 * until it gives 200. Text in backticks after it must be printed, by a repeated command at last.
 */
export function commandsIn(markdown: string): ShownCommand[] {
  const blocks = [...markdown.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) =>
    block.replaceAll(/\\\n\s*/g, ""),
  );
  return blocks
    .flatMap((block) => block.split("\n"))
    .filter((line) => /^[^#\s]/.test(line))
    .map((line) => {
      const [command = "", claim = ""] = line.split(/\s+# (?:→ )?/);
      const said = line.includes("# → ") ? claim : "";
      const codes = [...said.replaceAll(/`[^`]*`/g, "").matchAll(/\b\d{1,3}\b/g)].map(Number);
      return {
        command,
        codes,
        waits: said.includes(", then "),
        contains: [...said.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text),
      };
    });
}

/**
 * Runs commands in order on the server that their pages call `localhost:3000`; throws at the first that does not do what its page
 * says. `<id>` is the X-Request-Id of the latest response to a submission.
 */
export async function runCommands(
  commands: readonly ShownCommand[],
  server: { readonly host: string; readonly cwd: string; readonly run?: RunLine },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "paihao-curl-"));
  const rc = 'silent\nshow-error\nmax-time = 60\nwrite-out = "\\n%{http_code} %header{x-request-id}"\n';
  writeFileSync(join(folder, ".curlrc"), rc);
  let id = "";
  try {
    for (const { command, codes, waits, contains } of commands) {
      const line = command.replaceAll("localhost:3000", server.host).replaceAll("<id>", id);
      const isCurl = command.startsWith("curl ");
      const wanted = codes.length === 0 && !isCurl ? [0] : waits ? codes.slice(-1) : codes;
      const once = async () => {
        const outcome = isCurl ? await curl(line, server.cwd, folder) : await runOther(line, server.run);
        if (!wanted.includes(outcome.code))
          throw new Error(`${line}\n${outcome.code}, expected ${wanted}\n${outcome.output}`);
        for (const text of contains)
          if (!outcome.output.includes(text)) throw new Error(`${line}\nlacks ${text}\n${outcome.output}`);
        return outcome;
      };
      const outcome = waits ? await eventually(once, DONE_MS) : await once();
      if (/ -X POST | -X PUT | -d /.test(line) && !line.includes(" -X PATCH ")) id = outcome.id;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runOther(line: string, run: RunLine | undefined): Promise<Outcome> {
  if (run === undefined) throw new Error(`cannot run ${line}`);
  const { code, printed } = await run(line);
  return { code, output: printed, id: "" };
}

async function curl(command: string, cwd: string, folder: string): Promise<Outcome> {
  const env = { ...process.env, CURL_HOME: folder };
  const child = spawn("bash", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  await once(child, "close");
  const [, output = "", status, id = ""] = /^(.*)\n(\d{3}) (.*)$/s.exec(printed.stdout) ?? [];
  return { output: `${output}${printed.stderr}`, code: Number(status ?? 0), id };
}
