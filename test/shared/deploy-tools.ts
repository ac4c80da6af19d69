import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./root.ts";

/** Where scripts/deploy-tools.ts puts what it fetches. */
export const DEPLOY_TOOLS = join(ROOT, ".cache/deploy-tools");

/** The path of a program that it fetched, or of one on PATH; undefined without it. */
export function deployTool(
  name: "helm" | "kubectl" | "prometheus" | "promtool" | "systemd-analyze",
): string | undefined {
  const folders = [join(DEPLOY_TOOLS, "bin"), ...(process.env.PATH ?? "").split(":")];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** The folder of a package that it fetched; undefined without it. */
export function deployPackage(name: string): string | undefined {
  const folder = join(DEPLOY_TOOLS, "node_modules", name);
  return existsSync(folder) ? folder : undefined;
}
