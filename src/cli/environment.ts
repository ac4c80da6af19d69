/** The environment of a command: unlike settings, what is read of it here is not checked, and never stops a command. */

import { existsSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../errors.ts";
import { CommandError, EXIT } from "./exit.ts";

const DEFAULT = { host: "127.0.0.1", port: "3000" } as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** The URL of the server that `paihao start` starts in this environment. */
export function localUrl({ HOST = "", PORT = "" }: Environment = process.env): string {
  // Port 0 means any free port, which commands cannot know.
  return ownUrl(HOST.trim() || DEFAULT.host, /^[1-9]\d{0,4}$/.test(PORT.trim()) ? PORT.trim() : DEFAULT.port);
}

/** Where a server with this HOST and PORT is reached from its own machine. */
export function ownUrl(host: string, port: number | string): string {
  // A wildcard is not an address to connect to.
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** Whether the terminal does not understand escape sequences. */
export function isDumb({ TERM }: Environment = process.env): boolean {
  return TERM === "dumb";
}

/** The value of a variable that an option names. */
export function variable(name: string, environment: Environment = process.env): string | undefined {
  return environment[name];
}

/** Whether a command without a path is in no directory where programs are looked for. */
export function isMissing(command: string, { PATH }: Environment = process.env): boolean {
  // Windows also tries endings.
  if (command.includes("/") || PATH === undefined || process.platform === "win32") return false;
  return !PATH.split(path.delimiter).some((dir) => existsSync(path.join(dir, command)));
}

/** The variables that the file has set in this process. */
const fromFile: string[] = [];

/** Sets the variables of `.env`; those that are set already win. @throws CommandError */
export function loadEnvironment(file = ".env"): void {
  const before = { ...process.env };
  try {
    if (existsSync(file)) process.loadEnvFile(file);
  } catch (error) {
    throw new CommandError(EXIT.failed, `${file} cannot be read: ${messageOf(error)}`);
  }
  fromFile.push(...Object.keys(process.env).filter((name) => !(name in before)));
}

/** Takes the variables of the file out of the environment of a child process, which reads the file as it is then. */
export const withoutFile = (): Readonly<Record<string, undefined>> =>
  Object.fromEntries(fromFile.map((name) => [name, undefined]));
