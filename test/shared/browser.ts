import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** A real browser without a window; undefined where none is installed. */
export async function launchBrowser(): Promise<Browser | undefined> {
  const executablePath = PROGRAMS.find((file) => existsSync(file));
  return executablePath === undefined
    ? undefined
    : chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 60_000 });
}
