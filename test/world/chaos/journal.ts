import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { entriesOf, type Mark } from "../history/history.ts";

/** The file outside of the store in which handlers record what they do. Only new lines are read, since it may grow long. */
export class Journal {
  readonly #dir = mkdtempSync(path.join(tmpdir(), "paihao-world-"));
  readonly file = path.join(this.#dir, "journal");
  readonly #file: number;
  #marks: Mark[] = [];
  #read = 0;

  constructor() {
    writeFileSync(this.file, "");
    this.#file = openSync(this.file, "r");
  }

  /** All beginnings and ends since the last {@link clear}, as handlers noted them. */
  marks(): readonly Mark[] {
    const fresh = Buffer.alloc(fstatSync(this.#file).size - this.#read);
    const length = readSync(this.#file, fresh, 0, fresh.length, this.#read);
    // A line that is being written is read next time.
    const whole = fresh.subarray(0, fresh.lastIndexOf("\n", length) + 1);
    this.#read += whole.length;
    this.#marks.push(...(entriesOf(whole.toString("utf8")) as Mark[]));
    return this.#marks;
  }

  /** Forgets all marks so far. */
  clear(): void {
    this.marks();
    this.#marks = [];
  }

  /** The tasks that a process has begun and not ended. */
  heldBy(pid: number): string[] {
    const marks = this.marks().filter((mark) => mark.pid === pid);
    const ends = new Set(marks.filter(({ type }) => type === "ends").map(({ fence }) => fence));
    return marks.filter(({ type, fence }) => type === "begins" && !ends.has(fence)).map(({ id }) => id);
  }

  remove(): void {
    closeSync(this.#file);
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
