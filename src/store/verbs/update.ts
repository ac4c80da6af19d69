import type { Call } from "./answers.ts";
import { text } from "./reply.ts";
import type { Script } from "./script.ts";
import type { SubmitItem } from "./submit.ts";

/** The new input of a task. */
interface Replacement extends Call, Pick<SubmitItem, "id" | "input" | "digest" | "mediaType" | "query" | "key"> {
  /** Only where it has been replaced so often before; left out: any number. */
  readonly revision?: number | undefined;
}

/** What became of it: see update.lua. */
export type UpdateVerdict = "updated" | "conflict" | "changed" | "unknown";

/** Replaces the input of a task that has not begun. */
export const update =
  (script: Script) =>
  async (tag: string, t: Replacement): Promise<UpdateVerdict> => {
    const args = [t.id, t.input, t.digest, t.mediaType, t.query, t.call, t.revision ?? "", t.key ?? ""];
    return text(await script.text(tag, args)) as UpdateVerdict;
  };
