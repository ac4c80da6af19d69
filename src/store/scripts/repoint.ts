import { list, text } from "./reply.ts";
import { BATCH_LIMIT, type Script } from "./script.ts";

/** A note of where a task is that must be checked. */
export interface DuePointer {
  readonly id: string;
  readonly score: string;
  /** The partition of the task; null if the note itself is gone. */
  readonly home: number | null;
}

/** The result of a check. */
export interface CheckedPointer extends Pick<DuePointer, "id" | "score"> {
  readonly there: boolean;
}

/** Forgets the notes of tasks that have gone; returns those that are to be checked next. */
export const repoint =
  (script: Script) =>
  async (tag: string, checked: readonly CheckedPointer[], nextMs: number): Promise<DuePointer[]> => {
    const args = checked.flatMap(({ id, score, there }) => [id, score, there ? "1" : "0"]);
    const reply = list(await script.text(tag, [nextMs, BATCH_LIMIT, checked.length, ...args])).map(text);
    const due: DuePointer[] = [];
    for (let at = 0; at < reply.length; at += 3) {
      const [id = "", score = "", home = ""] = reply.slice(at, at + 3);
      due.push({ id, score, home: home === "" ? null : Number(home) });
    }
    return due;
  };
