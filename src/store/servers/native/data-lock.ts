import { readFileSync } from "node:fs";
import { mkdir, readdir, realpath, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf, StartError } from "../../../errors.ts";
import type { Logger } from "../../../log.ts";

/** Another process that checks the lock appears in it for a moment, so it is checked again this many times. */
const CHECKS = 5;
/** How long a store whose server was killed may take to write its data and exit. */
const EXIT_MS = 60_000;

/** One line in the lock: `owner` is a server that uses the directory, `store` the Redis that it runs there. */
interface Holder {
  readonly file: string;
  readonly kind: "owner" | "store";
  readonly pid: number;
}

/** Another server uses the directory. */
export class DirectoryInUseError extends StartError {
  readonly pid: number;

  constructor(pid: number, message: string) {
    super(message);
    this.pid = pid;
  }
}

/** Directories locked by this process: its own lock file cannot show a second use in the same process. */
const lockedHere = new Set<string>();

/**
 * A lock on a data directory: one file for each process that uses it, named after the process.
 *
 * A process first writes its own file and then looks for others; of two that start at once at least one sees the other and
 * gives up. A file is never taken over, only removed if its process is dead, so two processes cannot both claim a stale one.
 * The lock works only between processes of one machine, since it relies on process ids.
 */
export class DataLock {
  readonly #dir: string;
  readonly #own: string;

  private constructor(dir: string, own: string) {
    this.#dir = dir;
    this.#own = own;
  }

  /**
   * Creates the directory if needed, and locks it. If the store of a killed server is still writing, waits for it.
   * @throws StartError that names the directory and the process that uses it
   */
  static async take(dir: string, log: Logger): Promise<DataLock> {
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const lock = new DataLock(await realpath(dir), fileOf("owner", process.pid));
      if (lockedHere.has(lock.#dir)) throw inUse(dir, process.pid);
      lockedHere.add(lock.#dir);
      try {
        await lock.#enter(log);
      } catch (error) {
        lockedHere.delete(lock.#dir);
        throw error;
      }
      return lock;
    } catch (error) {
      if (error instanceof StartError) throw error;
      throw new StartError(`the data directory ${dir} cannot be used: ${messageOf(error)}; set DATA_DIR to another`, {
        cause: error,
      });
    }
  }

  async #enter(log: Logger): Promise<void> {
    const patience = performance.now() + EXIT_MS;
    let told = false;
    for (let look = 1; ; look++) {
      await this.#write(this.#own);
      const others = await this.#others();
      const other = others.find(({ kind }) => kind === "owner") ?? others[0];
      if (other === undefined) return;
      await this.#remove(this.#own);
      const leaving = other.kind === "store" && performance.now() < patience;
      if (!leaving && look >= CHECKS) throw inUse(this.#dir, other.pid, other.file);
      if (leaving && !told) {
        told = true;
        log.info(`waiting for the store of a server that was killed (process ${other.pid}) to finish writing`);
      }
      await delay(20 + Math.random() * 100);
    }
  }

  /**
   * Registers the store's process as a user of the directory, which outlives this process; returns a function that unregisters
   * it.
   */
  async cover(pid: number): Promise<() => Promise<void>> {
    const file = fileOf("store", pid);
    await this.#write(file);
    return () => this.#remove(file);
  }

  /** Releases the directory; idempotent. */
  async release(): Promise<void> {
    await this.#remove(this.#own);
    lockedHere.delete(this.#dir);
  }

  /** The other live processes; the files of dead ones are removed. */
  async #others(): Promise<Holder[]> {
    const living: Holder[] = [];
    for (const file of await readdir(this.#dir)) {
      const match = /^lock-(owner|store)-(\d+)-([0-9a-f.]+)$/.exec(file);
      if (match === null || file === this.#own) continue;
      const pid = Number(match[2]);
      if (isRunning(pid, match[3])) living.push({ file, kind: match[1] === "owner" ? "owner" : "store", pid });
      else await this.#remove(file);
    }
    return living;
  }

  async #write(file: string): Promise<void> {
    await writeFile(path.join(this.#dir, file), "");
  }

  async #remove(file: string): Promise<void> {
    await rm(path.join(this.#dir, file), { force: true });
  }
}

function fileOf(kind: Holder["kind"], pid: number): string {
  return `lock-${kind}-${pid}-${birthOf(pid)}`;
}

function inUse(dir: string, pid: number, file = ""): DirectoryInUseError {
  // Without a start time we cannot tell it from another process that got the same id, but the operator can.
  const doubt = file.endsWith(`-${UNKNOWN_BIRTH}`) ? `, or, if that is another program, remove ${file} there` : "";
  return new DirectoryInUseError(
    pid,
    `the data directory ${dir} is in use by process ${pid}; stop it, or set DATA_DIR to another directory${doubt}`,
  );
}

/** The start time where the system does not report one. */
const UNKNOWN_BIRTH = "0";

/**
 * When a process started, as a text that distinguishes it from other processes with the same id: ids are reused, in containers
 * after every restart. Only Linux reports it without running another program; elsewhere it is `"0"`.
 */
function birthOf(pid: number): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
    return `${boot}.${statOf(pid)[19] ?? UNKNOWN_BIRTH}`;
  } catch {
    return UNKNOWN_BIRTH;
  }
}

/**
 * Whether a process is running; a zombie is not.
 * @param birth its earlier {@link birthOf}, to exclude another process with the same id
 */
export function isRunning(pid: number, birth = UNKNOWN_BIRTH): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists, but belongs to another user.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  try {
    if (statOf(pid)[0] === "Z") return false;
  } catch {
    // There is no /proc, or the process has just ended: the result of the signal counts.
  }
  const current = birthOf(pid);
  return birth === UNKNOWN_BIRTH || current === UNKNOWN_BIRTH || birth === current;
}

/** The fields of /proc/<pid>/stat from the third, the state; the second, a name in brackets, may contain anything. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
