import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../errors.ts";
import { withoutFile } from "../environment.ts";
import { EXIT } from "../exit.ts";
import { note } from "../terminal/print.ts";
import { SourceWatch } from "./source-watch.ts";

/** Files often change together, ms. */
const SETTLE_MS = 100;
/** A server that has not ended this long after it was asked to is killed: a handler blocks it. */
const STOP_MS = 15_000;

/**
 * Runs `paihao start --dev`, and again whenever a source file changes in this folder or in that of the handlers, also after a start that
 * failed.
 * @returns the exit code of the last server
 */
export async function develop(options: Readonly<{ handlers?: string; port?: string }>): Promise<number> {
  const ending = new AbortController();
  let server: ChildProcess | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // A second one ends the server at once.
      if (ending.signal.aborted) server?.kill(signal);
      ending.abort();
    });
  }
  const ended = once(ending.signal, "abort");
  for (;;) {
    const change = new AbortController();
    const changed = once(change.signal, "abort");
    const watch = watchSources(options.handlers, (file) => change.abort(file));
    try {
      server = spawnServer(options);
      const exited = once(server, "exit");
      await Promise.race([exited, changed, ended]);
      if (!change.signal.aborted && !ending.signal.aborted) {
        note("paihao dev is waiting for a change");
        await Promise.race([changed, ended]);
      }
      if (!ending.signal.aborted) {
        note(`${path.relative(".", change.signal.reason)} has changed`);
        await sleep(SETTLE_MS);
      }
      const code = await stop(server, exited);
      if (ending.signal.aborted) return code;
    } finally {
      watch.stop();
    }
  }
}

function watchSources(handlers: string | undefined, onChange: (file: string) => void): SourceWatch {
  // biome-ignore lint/style/noProcessEnv: the settings are read by the server
  const folders = [".", handlers ?? process.env.HANDLERS ?? "."];
  const failed = new Set<string>();
  const watch = new SourceWatch(folders, onChange, (error) => {
    const { code = "" } = error as NodeJS.ErrnoException;
    // It probably fails for many folders.
    if (!failed.has(code)) note(`paihao dev does not see every change: ${messageOf(error)}`);
    failed.add(code);
  });
  watch.start();
  return watch;
}

/** Starts a server that ends when its channel does, and with it when this process ends in any way. */
function spawnServer(options: Readonly<Record<string, string>>): ChildProcess {
  const given = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const [program = ""] = process.argv.slice(1);
  return spawn(process.execPath, [...process.execArgv, program, "start", "--dev", ...given], {
    // Each start reads .env as it is then.
    // biome-ignore lint/style/noProcessEnv: the server reads its own environment
    env: { ...process.env, ...withoutFile() },
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
}

/** Not by a signal: the server would get the Ctrl-C of a terminal twice, and end at once. */
async function stop(server: ChildProcess, exited: Promise<unknown[]>): Promise<number> {
  if (server.connected) server.disconnect();
  const late = setTimeout(() => server.kill("SIGKILL"), STOP_MS);
  const [code] = (await exited) as [number | null];
  clearTimeout(late);
  return code ?? EXIT.interrupted;
}
