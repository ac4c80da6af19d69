import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import path from "node:path";
import { ROOT } from "../../test/shared/root.ts";

/** What a figure depends on besides the code. */
export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly redis: string;
  /** Package → version. */
  readonly packages: Readonly<Record<string, string>>;
  readonly commit: string;
}

const PACKAGES = ["koa", "@koa/router", "ioredis", "cls-rtracer", "raw-body", "bullmq", "bee-queue"];

/** Describes this machine and the versions at this moment. */
export function describeMachine(): Machine {
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    cpu: cpu?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    kernel: release(),
    node: process.version,
    redis: /\bv=(\S+)/.exec(said("redis-server", "--version"))?.[1] ?? "unknown",
    packages: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
    commit: said("git", "describe", "--always", "--dirty"),
  };
}

/** The machine in one line. */
export function machineLine(m: Machine): string {
  const packages = Object.entries(m.packages).map(([name, version]) => `${name} ${version}`);
  return `${m.date} · ${m.cores} × ${m.cpu}, ${m.memoryGiB} GiB, Linux ${m.kernel} · Node ${m.node}, Redis ${m.redis}, ${packages.join(", ")} · ${m.commit}`;
}

function said(command: string, ...args: string[]): string {
  return spawnSync(command, args, { cwd: ROOT, encoding: "utf8" }).stdout?.trim() ?? "";
}

function versionOf(name: string): string {
  const file = path.join(ROOT, "node_modules", name, "package.json");
  return String((JSON.parse(readFileSync(file, "utf8")) as { version?: unknown }).version);
}
