import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { messageOf } from "../../errors.ts";

/**
 * Runs npm in a folder; its messages go to stderr.
 * @param show whether its stdout is for people as well
 * @returns what it printed, and how it failed
 */
export async function runNpm(
  args: readonly string[],
  cwd: string,
  { show = false } = {},
): Promise<{ how: string | undefined; stdout: string }> {
  // On Windows npm is a script, which needs a shell.
  const shell = process.platform === "win32";
  const npm = spawn("npm", shell ? args.map((arg) => `"${arg}"`) : args, {
    cwd,
    stdio: ["ignore", show ? process.stderr : "pipe", process.stderr],
    shell,
  });
  const printed = npm.stdout ? text(npm.stdout).catch(() => "") : "";
  const how = await once(npm, "close").then(
    ([code, signal]) => (code === 0 ? undefined : `exit code ${code ?? signal}`),
    messageOf,
  );
  return { how, stdout: await printed };
}
