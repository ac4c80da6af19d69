import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import { fileURLToPath } from "node:url";
import { isRunning } from "../../src/store/servers/native/data-lock.ts";
import { eventually } from "../shared/eventually.ts";

/** Resolves when the process is gone, whoever its parent is. */
export async function processGone(pid: number): Promise<void> {
  await eventually(() => !isRunning(pid));
}

/** The processes that a process has started and that still run. Linux only. */
export function childrenOf(pid = 0): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

/** The process group to which a terminal sends Ctrl-C. Linux only. */
export function groupOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
}

/** Starts store-owner.ts and waits for its store's URL; rejects when it ends without one. */
export async function startStoreOwner(kind: string, dir: string): Promise<{ owner: ChildProcess; url: string }> {
  const script = fileURLToPath(new URL("./store/store-owner.ts", import.meta.url));
  const owner = spawn(process.execPath, ["--import", "tsx", script, kind, dir], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [first] = await Promise.race([once(owner.stdout, "data"), once(owner, "exit")]);
  if (!(first instanceof Buffer)) throw new Error(`the store's owner ended with status ${first}`);
  return { owner, url: first.toString().trim() };
}

/** Whether nothing listens there any more. */
export async function refuses(url: string): Promise<boolean> {
  const { protocol, pathname, port } = new URL(url);
  const socket = protocol === "unix:" ? net.connect(pathname) : net.connect(Number(port), "127.0.0.1");
  try {
    await once(socket, "connect");
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}
