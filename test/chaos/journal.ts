import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Mark } from "./history/history.ts";

/** One execution of a task, as its handler noted it. */
export interface Execution {
  readonly id: string;
  readonly pid: number;
  ended: boolean;
}

/** The file outside of the store in which handlers record what they do. Only new lines are read, since it may grow long. */
export class Journal {
  readonly #dir = mkdtempSync(path.join(tmpdir(), "paihao-chaos-"));
  readonly file = path.join(this.#dir, "journal");
  readonly #file: number;
  readonly #marks: Mark[] = [];
  readonly #executions: Execution[] = [];
  /** Those that have not ended, by process. */
  readonly #open = new Map<number, Execution[]>();
  #read = 0;

  constructor() {
    writeFileSync(this.file, "");
    this.#file = openSync(this.file, "r");
  }

  /** All executions so far, in the order in which they began. */
  executions(): readonly Execution[] {
    const fresh = Buffer.alloc(fstatSync(this.#file).size - this.#read);
    const length = readSync(this.#file, fresh, 0, fresh.length, this.#read);
    // A line that is being written is read next time.
    const whole = fresh.subarray(0, fresh.lastIndexOf("\n", length) + 1);
    this.#read += whole.length;
    for (const line of whole.toString("utf8").split("\n")) {
      if (line !== "") this.#note(JSON.parse(line) as Mark);
    }
    return this.#executions;
  }

  /** All beginnings and ends so far, as handlers noted them. */
  marks(): readonly Mark[] {
    this.executions();
    return this.#marks;
  }

  /** The tasks that a process has begun and not ended. */
  heldBy(pid: number): string[] {
    this.executions();
    return (this.#open.get(pid) ?? []).map(({ id }) => id);
  }

  remove(): void {
    closeSync(this.#file);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #note(mark: Mark): void {
    const { type, id, pid } = mark;
    this.#marks.push(mark);
    const open = this.#open.get(pid) ?? [];
    this.#open.set(pid, open);
    if (type === "begins") {
      const execution = { id, pid, ended: false };
      this.#executions.push(execution);
      open.push(execution);
    } else {
      const ended = open.findIndex((one) => one.id === id);
      for (const execution of open.splice(ended, ended < 0 ? 0 : 1)) execution.ended = true;
    }
  }
}
