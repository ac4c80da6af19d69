import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Handler } from "../../src/handler/define.ts";
import { ROOT } from "../shared/root.ts";
import { compileHandlers } from "./compiled-handlers.ts";
import { endProcesses, type ServerProcess, startProcess } from "./server-process.ts";
import { storedKey } from "./store/stored.ts";
import { openWorkshop, type Workshop, type WorkshopOptions } from "./workshop.ts";

/** Servers in processes of their own, a workshop on their keys, and a journal that their handlers write. */
export interface ProcessGroup {
  readonly shop: Workshop;
  /** The path of the journal. */
  readonly journal: string;
  /** Starts a process; it ends with the group. */
  start(env?: Readonly<Record<string, string>>): Promise<ServerProcess>;
  /** The lines of the journal so far. */
  lines(): Promise<string[]>;
  /** The processes in which a task has begun, in order. */
  begun(id: string): Promise<number[]>;
  /** Waits until a process has ended, and lets its leases end at once: no other process has any. */
  leave(server: ServerProcess): Promise<void>;
  /** The same, after it was killed. */
  kill(server: ServerProcess): Promise<void>;
  close(): Promise<void>;
}

/** Opens a group whose processes have the handlers of a folder of `test/fixtures/handlers`. */
export async function openProcesses(
  folder: string,
  handlers: readonly unknown[],
  options: WorkshopOptions = {},
): Promise<ProcessGroup> {
  const dir = await mkdtemp(path.join(tmpdir(), "paihao-processes-"));
  const journal = path.join(dir, "journal");
  compileHandlers(path.join(ROOT, "test/fixtures/handlers", folder), path.join(dir, "handlers"));
  const shop = await openWorkshop(handlers as readonly Handler[], options);
  const env = { KEY_PREFIX: shop.prefix, HANDLERS: path.join(dir, "handlers") };
  const processes: ServerProcess[] = [];
  const leave = async (server: ServerProcess) => {
    await server.ended;
    const redis = await shop.redis();
    for (const { queue } of handlers as readonly Handler[]) {
      const { keys } = shop.engine;
      const key = storedKey(keys.tagOfQueue(queue), "leases", queue);
      for (const id of await redis.zrange(key, "0", "-1")) await redis.zadd(key, "XX", "1", id);
    }
  };
  const lines = async () => (await readFile(journal, "utf8").catch(() => "")).split("\n");
  return {
    shop,
    journal,
    lines,
    async start(more = {}) {
      const server = await startProcess({ ...env, ...more });
      processes.push(server);
      return server;
    },
    leave,
    kill: async (server) => {
      server.child.kill("SIGKILL");
      await leave(server);
    },
    begun: async (id) =>
      (await lines()).filter((line) => line.startsWith(`${id} begins`)).map((line) => Number(line.split(" ")[2])),
    async close() {
      await endProcesses(processes);
      await shop.close();
      await rm(dir, { recursive: true });
    },
  };
}
