import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { builtCommand } from "../helpers/build.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { storeTarget, storeUrl, storeUrlAt, uniquePrefix } from "../helpers/store/run-store.ts";
import { startTcpProxy, type TcpProxy } from "../helpers/tcp-proxy.ts";
import { ROOT } from "../shared/root.ts";
import { handlersOf, type RunBy } from "./handlers.ts";
import { previousRelease } from "./previous.ts";

export type Release = "old" | "new";
export const RELEASES = ["old", "new"] as const satisfies Release[];
type Role = "api" | "worker";
const WORKERS = 2;

/** What a handler noted. */
export interface HandlerNote {
  readonly id: string;
  readonly attempt: number;
  readonly release: Release;
  readonly what: string;
}

/** The API and the workers of two releases on one store. */
export class Fleet {
  readonly prefix = uniquePrefix();
  readonly previous = previousRelease();
  readonly #dir = mkdtempSync(path.join(tmpdir(), "paihao-upgrade-"));
  readonly #journal = path.join(this.#dir, "journal");
  readonly #running = new Map<`${Release} ${Role}`, ServerProcess[]>();

  /** The previous release connects to ports only. */
  #proxy: TcpProxy | undefined;

  constructor() {
    writeFileSync(this.#journal, "");
  }

  /** Prepares the store for both releases. */
  async open(): Promise<void> {
    if (storeUrl().startsWith("unix:")) this.#proxy = await startTcpProxy(storeTarget());
  }

  /** Where callers find a release; undefined while it has no API. */
  url(release: Release): string | undefined {
    return this.#running.get(`${release} api`)?.[0]?.url;
  }

  /** The releases that have an API. */
  get apis(): Release[] {
    return RELEASES.filter((release) => this.url(release) !== undefined);
  }

  async startApi(release: Release): Promise<void> {
    await this.#start(release, "api", ["both", "old", "new", "nobody"]);
  }

  async startWorkers(release: Release): Promise<void> {
    await Promise.all(Array.from({ length: WORKERS }, () => this.#start(release, "worker", ["both", release])));
  }

  /** Ends the processes of a release as a rolling upgrade does: each drains, and exits in order. */
  async drain(release: Release, role: Role): Promise<void> {
    const processes = this.#running.get(`${release} ${role}`) ?? [];
    this.#running.delete(`${release} ${role}`);
    for (const { child } of processes) child.kill("SIGTERM");
    expect(await Promise.all(processes.map(({ ended }) => ended)), `exit codes of ${release} ${role}`).to.deep.equal(
      processes.map(() => 0),
    );
  }

  /** All that handlers noted so far. */
  entries(): HandlerNote[] {
    const lines = readFileSync(this.#journal, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => {
      const [id = "", attempt, release, what = ""] = line.split(" ");
      return { id, attempt: Number(attempt), release: release as Release, what };
    });
  }

  /** What the processes logged, except for the failures that handlers mean. */
  logs(): string {
    const of = (name: string, { pid, logged }: ServerProcess) => {
      const lines = logged.filter((line) => !/"the attempt failed"|"the task is dead/.test(line));
      return [`--- ${name} ${pid}`, ...lines.slice(-20)].join("\n");
    };
    return [...this.#running].flatMap(([name, all]) => all.map((one) => of(name, one))).join("\n");
  }

  async stop(): Promise<void> {
    await endProcesses([...this.#running.values()].flat());
    await this.#proxy?.stop();
    rmSync(this.#dir, { recursive: true });
  }

  async #start(release: Release, role: Role, queues: readonly RunBy[]): Promise<void> {
    const handlers = this.#handlers(queues);
    const url = release === "old" && this.#proxy ? storeUrlAt(this.#proxy.port) : storeUrl();
    const env = {
      ...{ ROLE: role, PORT: "0", KEY_PREFIX: this.prefix, REDIS_URL: url, HANDLERS: handlers },
      ...{ UPGRADE_RELEASE: release, UPGRADE_JOURNAL: this.#journal, WEBHOOK_ALLOW: "127.0.0.1" },
    };
    const started = await startProcess(env, release === "old" ? this.previous.program : builtCommand());
    const key = `${release} ${role}` as const;
    this.#running.set(key, [...(this.#running.get(key) ?? []), started]);
  }

  /** A folder with a file that exports the handlers of some queues. */
  #handlers(queues: readonly RunBy[]): string {
    const folder = mkdtempSync(path.join(this.#dir, "handlers-"));
    const source = pathToFileURL(path.join(ROOT, "test/upgrade/handlers.ts")).href;
    const lines = queues.flatMap((by) => [
      `const by_${by} = handlersOf("${by}");`,
      ...Object.keys(handlersOf(by)).map((name) => `export const ${by}_${name} = by_${by}.${name};`),
    ]);
    writeFileSync(
      path.join(folder, "handlers.ts"),
      [`import { handlersOf } from "${source}";`, ...lines, ""].join("\n"),
    );
    return folder;
  }
}
