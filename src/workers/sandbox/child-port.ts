import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { inheritedFlags } from "../../config/node-flags.ts";
import { messageOf } from "../../errors.ts";
import type { FromSandbox, ToSandbox } from "./messages.ts";

const ENTRY = new URL(`./sandbox-main${extname(fileURLToPath(import.meta.url))}`, import.meta.url);
/** How long to read the last messages of a process that has ended, ms: a child of its own may keep the channel open. */
const LAST_WORDS_MS = 500;

/** The connection to a sandbox, which can also end it. */
export interface SandboxPort {
  /** Sends a message; without effect if the sandbox is gone. */
  post(message: ToSandbox): void;
  /** Sets the listener for messages of the sandbox. */
  listen(listener: (message: FromSandbox) => void): void;
  /** Resolves when the sandbox is gone and all its messages are read, with how it ended. */
  readonly gone: Promise<string>;
  /** Terminates the sandbox, whatever it does. Resolves when it is gone. */
  kill(): Promise<void>;
}

/**
 * Starts a sandbox, a child process; with a limit for its heap in MB, if one is given. It leads a process group, which ends with it: the
 * programs that a handler has started.
 */
export function openChild(memoryMb?: number): SandboxPort {
  const child = fork(ENTRY, {
    detached: true,
    // Results contain bytes, which JSON cannot represent.
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: [...inheritedFlags(), ...(memoryMb === undefined ? [] : [`--max-old-space-size=${memoryMb}`])],
  });
  const gone = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      killGroup(child);
      const how = signal === null ? `its process ended with exit code ${code}` : `its process was ended by ${signal}`;
      const heard = () => resolve(how);
      if (!child.connected) return heard();
      setTimeout(heard, LAST_WORDS_MS);
      once(child, "disconnect").then(heard, heard);
    });
    child.on("error", (error) => {
      if (child.pid === undefined) resolve(`no process could be started: ${messageOf(error)}`);
    });
  });
  return {
    post: (message) => {
      if (child.connected) child.send(message, () => undefined);
    },
    listen: (listener) => child.on("message", (message) => listener(message as FromSandbox)),
    gone,
    kill: async () => {
      // Afterwards another process may have its id.
      if (child.exitCode === null && child.signalCode === null) killGroup(child);
      await gone;
    },
  };
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
}
