/** One instruction of a Dockerfile, continued lines joined. */
export interface Instruction {
  readonly word: string;
  /** Options such as `--from=build`, without the dashes. */
  readonly flags: Readonly<Record<string, string>>;
  /** The rest as it stands. */
  readonly rest: string;
  /** The rest as words: of a JSON array its items, else what white space parts. */
  readonly args: readonly string[];
}

/** One FROM with what follows it. */
export interface Stage {
  readonly image: string;
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** Reads as much of the Dockerfile language as this project uses. */
export function readDockerfile(text: string): Stage[] {
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const stages: { image: string; name: string; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const instruction = readInstruction(line);
    if (instruction.word === "FROM") {
      const [image = "", , name = String(stages.length)] = instruction.args;
      stages.push({ image, name, instructions: [] });
    } else {
      stages.at(-1)?.instructions.push(instruction);
    }
  }
  return stages;
}

function readInstruction(line: string): Instruction {
  const [, word = "", after = ""] = /^(\w+)\s*(.*)$/.exec(line) ?? [];
  const flags: Record<string, string> = {};
  let rest = after;
  for (let flag = /^--([\w-]+)=(\S+)\s+/.exec(rest); flag; flag = /^--([\w-]+)=(\S+)\s+/.exec(rest)) {
    flags[flag[1] ?? ""] = flag[2] ?? "";
    rest = rest.slice(flag[0].length);
  }
  // HEALTHCHECK holds a CMD of its own.
  const list = rest.replace(/^CMD\s+/, "");
  const args: string[] = list.startsWith("[") ? JSON.parse(list) : rest.split(/\s+/);
  return { word: word.toUpperCase(), flags, rest, args };
}

/** The variables that a stage sets. */
export function environmentOf(stage: Stage): Record<string, string> {
  const pairs = stage.instructions.filter(({ word }) => word === "ENV").flatMap(({ args }) => args);
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
}

/** Whether .dockerignore lets a path reach the builder: the last line that matches its first folder decides. */
export function reachesBuilder(ignore: string, path: string): boolean {
  const top = path.replace(/^\.\//, "").split("/")[0];
  let sent = true;
  for (const line of ignore.split("\n").map((text) => text.trim())) {
    const pattern = line.replace(/^!/, "");
    if (pattern === "*" || pattern === top) sent = line.startsWith("!");
  }
  return sent;
}
