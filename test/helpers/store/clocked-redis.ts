import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";

/** A Redis whose clock can be set. */
export interface ClockedRedis extends PrivateRedis {
  /** Sets its clock ahead of the machine's by this much, or behind it if negative. */
  setAhead(ms: number): void;
}

/** Whether the clock of a Redis can be set here: that needs a C compiler and a redis-server. */
export function canSetClocks(): boolean {
  const runs = (command: string) => spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0;
  return process.platform === "linux" && runs("cc") && runs("redis-server");
}

/** Starts a private Redis with a clock of its own, see clock.c. */
export async function startClockedRedis(): Promise<ClockedRedis> {
  library ??= compiledClock();
  started += 1;
  const file = path.join(path.dirname(library), `ahead-${started}`);
  const setAhead = (ms: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms));
    // Written in place, since the server has mapped the file into memory.
    writeFileSync(file, bytes, { flag: existsSync(file) ? "r+" : "w" });
  };
  setAhead(0);
  const redis = await startRedis({ env: { LD_PRELOAD: library, CLOCK_FILE: file } });
  return Object.assign(Object.create(redis) as PrivateRedis, { setAhead });
}

let library: string | undefined;
let started = 0;

function compiledClock(): string {
  const dir = mkdtempSync(path.join(tmpdir(), "paihao-clock-"));
  process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
  const file = path.join(dir, "clock.so");
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", file, path.join(import.meta.dirname, "clock.c")]);
  return file;
}
