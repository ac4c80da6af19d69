/**
 * `npm run docs`: writes .env.example from the table of settings; a test compares the two.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SECTIONS } from "../src/config/variables.ts";
import { ROOT } from "../test/shared/root.ts";

/** Where the file is. */
export const ENV_FILE = join(ROOT, ".env.example");

const COLUMNS = 132;
const RULE_COLUMNS = 119;

const HEAD = `# Every setting of the server, with its default. To try the server out, none of them has to be set.
# Durations are written 500ms, 30s, 5m, 1h, 7d, or as milliseconds; sizes 64kb, 1mb, or as bytes. Empty means: not set.
# With an invalid value the server does not start; it names the variable, the value and what it expected.
# \`paihao start\` reads a copy of this file named .env in its working directory; environment variables take precedence.
`;

/** The text of the file: each variable below what it means. */
export function envExample(): string {
  const sections = SECTIONS.map(({ title, variables }) => {
    const lines = Object.entries(variables).map(
      ([name, { about, fallback }]) => `${comment(about)}\n${name}=${fallback}`,
    );
    return `${`# --- ${title} `.padEnd(RULE_COLUMNS, "-")}\n\n${lines.join("\n")}\n`;
  });
  return [HEAD, ...sections].join("\n");
}

function comment(text: string): string {
  const lines = [""];
  // A command stays on one line.
  for (const word of text.match(/`[^`]*`\S*|\S+/g) ?? []) {
    const last = `${lines.at(-1)} ${word}`;
    if (last.length < COLUMNS) lines[lines.length - 1] = last;
    else lines.push(` ${word}`);
  }
  return lines.map((line) => `#${line}`).join("\n");
}

if (process.argv[1] === import.meta.filename) writeFileSync(ENV_FILE, envExample());
