import type { Confirmation } from "../durability.ts";
import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** A task in another partition than that of its id. */
export interface Pointer {
  readonly id: string;
  readonly queue: string;
  readonly caller: string;
  /** Its partition. */
  readonly home: number;
}

/** The verdict, see point.lua, and whether it has the requested durability. */
export interface Pointed {
  readonly verdict: "new" | "noted" | "taken";
  /** Of a new one: what it is forgotten by. */
  readonly score: string | undefined;
  readonly durable: boolean;
}

/** Notes where tasks will be. */
export const point =
  (script: Script, confirmation: Confirmation) =>
  async (tag: string, items: readonly Pointer[], checkMs: number): Promise<Pointed[]> => {
    const args = items.flatMap(({ id, queue, caller, home }) => [id, queue, caller, home]);
    const { reply, node } = await script.served(tag, [checkMs, items.length, ...args]);
    const durable = await confirmation.confirm(node);
    return list(reply).map((answer) => {
      const [verdict, score] = text(answer).split(" ");
      return { verdict: verdict as Pointed["verdict"], score, durable };
    });
  };
