import { existsSync } from "node:fs";
import { messageOf } from "../../errors.ts";
import { CommandError, EXIT } from "../exit.ts";

/** The variables that the file has set in this process. */
const fromFile: string[] = [];

/** Sets the variables of `.env`; those that are set already win. @throws CommandError */
export function loadEnvironment(file = ".env"): void {
  // biome-ignore lint/style/noProcessEnv: .env becomes part of the environment here
  const before = { ...process.env };
  try {
    if (existsSync(file)) process.loadEnvFile(file);
  } catch (error) {
    throw new CommandError(EXIT.failed, `${file} cannot be read: ${messageOf(error)}`);
  }
  // biome-ignore lint/style/noProcessEnv: as above
  fromFile.push(...Object.keys(process.env).filter((name) => !(name in before)));
}

/** Takes the variables of the file out of the environment of a child process, which reads the file as it is then. */
export const withoutFile = (): Readonly<Record<string, undefined>> =>
  Object.fromEntries(fromFile.map((name) => [name, undefined]));
