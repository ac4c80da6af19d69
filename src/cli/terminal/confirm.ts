import { createInterface } from "node:readline/promises";
import { wrongUsage } from "../exit.ts";
import { plain } from "./print.ts";

/**
 * Asks a person; anything but yes is no.
 * @param consequence what would happen, for the error if there is nobody to ask
 * @throws CommandError if there is no person to ask
 */
export async function confirm(question: string, consequence: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw wrongUsage(`${consequence}; add --yes if that is intended`);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const gone = new AbortController();
  // The end of the input and Ctrl-C also mean no.
  prompt.once("close", () => gone.abort());
  try {
    return /^y(es)?$/i.test((await prompt.question(`${plain(question)} [y/N] `, { signal: gone.signal })).trim());
  } catch {
    return false;
  } finally {
    prompt.close();
  }
}
