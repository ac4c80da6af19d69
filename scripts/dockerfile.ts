/** One instruction of a Dockerfile, continued lines joined. */
export interface Instruction {
  readonly word: string;
  /** Options such as `--from=build`, without the dashes. */
  readonly flags: Readonly<Record<string, string>>;
  /** The rest as written. */
  readonly rest: string;
  /** The rest as words: the items of a JSON array, else what white space separates. */
  readonly args: readonly string[];
}

/** One FROM with the instructions after it. */
export interface Stage {
  readonly image: string;
  readonly name: string;
  readonly instructions: Instruction[];
}

/** Reads as much of the Dockerfile language as this project uses. */
export function readDockerfile(text: string): Stage[] {
  const joined = text.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n\s*/g, "");
  const stages: Stage[] = [];
  for (const [, word = "", options = "", rest = ""] of joined.matchAll(/^(\w+)\s+((?:--\S+\s+)*)(.*)$/gm)) {
    // HEALTHCHECK contains a CMD of its own.
    const list = rest.replace(/^CMD\s+/, "");
    const args: string[] = list.startsWith("[") ? JSON.parse(list) : rest.trim().split(/\s+/);
    const flags = Object.fromEntries(
      [...options.matchAll(/--([\w-]+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    );
    if (word === "FROM")
      stages.push({ image: args[0] ?? "", name: args[2] ?? String(stages.length), instructions: [] });
    else stages.at(-1)?.instructions.push({ word, flags, rest, args });
  }
  return stages;
}

/** The variables that a stage sets. */
export function environmentOf(stage: Stage): Record<string, string> {
  const pairs = stage.instructions.filter(({ word }) => word === "ENV").flatMap(({ args }) => args);
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
}

/** Whether .dockerignore lets a path reach the builder, which the last line that matches its first folder decides. */
export function reachesBuilder(ignore: string, path: string): boolean {
  const [top = ""] = path.replace(/^\.\//, "").split("/");
  const line = ignore.split("\n").findLast((text) => ["*", top, `!${top}`].includes(text.trim()));
  return line === undefined || line.startsWith("!");
}
