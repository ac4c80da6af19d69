import { list, text } from "./reply.ts";
import { BATCH_LIMIT, type Script } from "./script.ts";

/** For so long what was returned to one caller is left to it, ms: after that it has probably gone. */
const CLAIM_MS = 60_000;

/** A note of where a task is that must be checked. */
export interface DuePointer {
  readonly id: string;
  readonly score: string;
  /** The partition of the task; null if the note itself is gone. */
  readonly home: number | null;
}

/** The result of a check. */
export interface CheckedPointer extends Pick<DuePointer, "id" | "score"> {
  /** When it is to be checked again, ms; null if the task has gone. */
  readonly nextMs: number | null;
}

/** Forgets the notes of tasks that have gone; returns those that are to be checked next, which no other caller gets for a while. */
export const repoint =
  (script: Script) =>
  async (tag: string, checked: readonly CheckedPointer[], { limit = BATCH_LIMIT } = {}): Promise<DuePointer[]> => {
    const args = checked.flatMap(({ id, score, nextMs }) => [id, score, nextMs ?? ""]);
    const reply = list(await script.text(tag, [limit, CLAIM_MS, checked.length, ...args])).map(text);
    const due: DuePointer[] = [];
    for (let at = 0; at < reply.length; at += 3) {
      const [id = "", score = "", home = ""] = reply.slice(at, at + 3);
      due.push({ id, score, home: home === "" ? null : Number(home) });
    }
    return due;
  };
