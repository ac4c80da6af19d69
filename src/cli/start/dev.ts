import { spawn } from "node:child_process";
import { once } from "node:events";
import { withoutFile } from "./environment.ts";

/**
 * Runs `paihao start --dev` under the watch mode of Node, which starts it again when a file changes that it has imported.
 * @returns its exit code
 */
export async function develop(options: Readonly<Record<string, string>>): Promise<number> {
  const given = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const [program = ""] = process.argv.slice(1);
  const watch = ["--watch", "--watch-preserve-output", program, "start", "--dev", ...given];
  const watcher = spawn(process.execPath, [...process.execArgv, ...watch], {
    // Each start reads .env as it is then.
    // biome-ignore lint/style/noProcessEnv: the server reads its own environment
    env: { ...process.env, ...withoutFile() },
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => watcher.kill(signal));
  const [code] = await once(watcher, "exit");
  return code ?? 1;
}
