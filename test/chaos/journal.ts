import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** One execution of a task, as its handler noted it. */
export interface Execution {
  readonly id: string;
  readonly pid: number;
  readonly ended: boolean;
}

const LONG_BYTES = 2 * 1024 ** 2;

/** The file in which handlers note what they do, outside of the store. */
export class Journal {
  readonly #dir = mkdtempSync(path.join(tmpdir(), "paihao-chaos-"));
  readonly file = path.join(this.#dir, "journal");

  constructor() {
    writeFileSync(this.file, "");
  }

  /** All executions so far, in the order in which they began. */
  executions(): Execution[] {
    const executions: (Execution & { ended: boolean })[] = [];
    for (const line of readFileSync(this.file, "utf8").split("\n")) {
      const [id, , pid, what] = line.split(" ");
      if (id === undefined || what === undefined) continue;
      if (what === "begins") executions.push({ id, pid: Number(pid), ended: false });
      const open = executions.find((one) => one.id === id && one.pid === Number(pid) && !one.ended);
      if (what === "ends" && open) open.ended = true;
    }
    return executions;
  }

  /** The tasks that a process has begun and not ended. */
  heldBy(pid: number): string[] {
    return this.executions().flatMap((one) => (one.pid === pid && !one.ended ? [one.id] : []));
  }

  /** So long that reading it takes its time. */
  get isLong(): boolean {
    return statSync(this.file).size > LONG_BYTES;
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
