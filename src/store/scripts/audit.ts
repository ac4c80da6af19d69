import { type Index, START } from "../keys.ts";
import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** What an audit looks at in one call. */
export interface AuditItems {
  /** The index whose entries these are; left out, tasks are looked at. */
  readonly index?: { readonly name: Index; readonly queue: string } | undefined;
  readonly ids: readonly string[];
  /** Make those agree that do not. */
  readonly heal: boolean;
}

/** Checks tasks, or the entries of an index, against each other; returns the ids of those that disagreed. */
export const audit =
  (script: Script) =>
  async (tag: string, { index, ids, heal }: AuditItems): Promise<string[]> => {
    const of = index ? START[index.name] : START.task;
    return list(await script.text(tag, [of, index?.queue ?? "", heal ? "1" : "0", ...ids])).map(text);
  };
