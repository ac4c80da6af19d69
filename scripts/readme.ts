/** A curl command of the README and what it is said to answer. */
export interface ReadmeCommand {
  /** Line of README.md, from 1. */
  readonly line: number;
  /** As a shell takes it, continued lines joined. */
  readonly command: string;
  readonly expected: Expectation;
}

/** What stands behind `# →`. */
interface Expectation {
  /** Alternatives, step by step: `404, then 200 or 201` is `[[404], [200, 201]]`; empty where nothing is claimed. */
  readonly statuses: readonly (readonly number[])[];
  /** Stand in the answer's headers or body letter by letter. */
  readonly contains: readonly string[];
}

const FENCE = /^\s*(?:```|~~~)\s*(\w*)/;
const SHELLS = new Set(["sh", "bash", "shell", "console"]);

/** Finds the curl commands in the shell blocks of a Markdown text; see scripts/readme-curl.ts for the convention. */
export function readmeCommands(markdown: string): ReadmeCommand[] {
  const lines = markdown.split(/\r?\n/);
  const commands: ReadmeCommand[] = [];
  let language: string | undefined;
  for (let i = 0; i < lines.length; i += 1) {
    const fence = FENCE.exec(lines[i] ?? "");
    if (fence) {
      language = language === undefined ? fence[1] : undefined;
      continue;
    }
    if (language === undefined || !SHELLS.has(language) || !/^\s*(?:\$ )?curl\s/.test(lines[i] ?? "")) continue;
    const line = i + 1;
    let text = (lines[i] ?? "").replace(/^\s*(?:\$ )?/, "");
    while (text.endsWith("\\") && i + 1 < lines.length) text = `${text.slice(0, -1)}${lines[++i]?.trim()}`;
    let claim = /\s#\s*(→.*)$/.exec(text)?.[1] ?? "";
    const command = text.replace(/\s#\s*→.*$/, "").trim();
    while (/^\s*#/.test(lines[i + 1] ?? "") && (claim !== "" || /^\s*#\s*→/.test(lines[i + 1] ?? ""))) {
      claim += ` ${lines[++i]?.replace(/^\s*#\s*/, "")}`;
    }
    commands.push({ line, command, expected: readClaim(claim) });
  }
  return commands;
}

function readClaim(claim: string): Expectation {
  const contains = [...claim.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
  const words = claim.replaceAll(/`[^`]*`/g, " ");
  const first = /^\s*→\D*?\b([1-5]\d\d)\b/.exec(words);
  if (!first) return { statuses: [], contains };
  const statuses: number[][] = [[Number(first[1])]];
  for (const [, word, status] of words.matchAll(/\b(or|then)\s+(?:an?\s+)?([1-5]\d\d)\b/g)) {
    if (word === "or") statuses.at(-1)?.push(Number(status));
    else statuses.push([Number(status)]);
  }
  return { statuses, contains };
}
