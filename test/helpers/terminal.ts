import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { eventually } from "../shared/eventually.ts";
import { TerminalScreen } from "./terminal-screen.ts";

const SIZE = { columns: 100, rows: 24 };

/** Whether this machine has `script` of util-linux, which runs a command on its own terminal. */
export function hasTerminal(): boolean {
  return process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
}

/** A command on a terminal, as a person sees it. */
export class Terminal {
  readonly screen: TerminalScreen;
  /** What was written, with all its escape sequences. */
  written = "";
  /** Resolves with its exit code. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  #open = true;

  /**
   * @param command the words of a command line
   * @param size the size that the terminal reports
   */
  constructor(command: readonly string[], env: Readonly<Record<string, string>> = {}, size = SIZE) {
    const line = `stty cols ${size.columns} rows ${size.rows}; exec ${command.map(quoted).join(" ")}`;
    const child = spawn("script", ["--quiet", "--flush", "--return", "--command", line, "/dev/null"], {
      env: { PATH: process.env.PATH ?? "", TERM: "xterm-256color", SHELL: "/bin/sh", LANG: "C.UTF-8", ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child = child;
    this.screen = new TerminalScreen(size.columns || SIZE.columns, size.rows || SIZE.rows);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.written += text;
      this.screen.write(text);
    });
    child.stdin.on("error", () => undefined);
    this.ended = once(child, "close").then(([code]) => {
      this.#open = false;
      return code as number;
    });
  }

  /** Types on its keyboard. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Waits until the screen shows this. */
  async until(pattern: RegExp): Promise<void> {
    await eventually(() => {
      if (pattern.test(this.screen.text)) return true;
      throw new Error(`${this.#open ? "" : "it ended; "}the screen does not show ${pattern}:\n${this.screen.text}`);
    }, 30_000);
  }

  /** Ends it if a test has not. */
  async close(): Promise<void> {
    if (!this.#open) return;
    this.#child.kill("SIGKILL");
    await this.ended;
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
