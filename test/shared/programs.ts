import { existsSync } from "node:fs";
import { join } from "node:path";

/** The path of a program on PATH; undefined without it. */
export function programOnPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(":");
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
