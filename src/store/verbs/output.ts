import { list, number, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** Most bytes of a page, as output.lua has it; only the last value of one may go beyond. */
export const OUTPUT_PAGE_BYTES = 16_384;

/** From where the output of a task is read. */
export interface OutputPlace {
  readonly id: string;
  /** The number of the first value, from 0. */
  readonly from: number;
}

/** A value that a handler has written. */
export interface OutputValue {
  /** The number of the start of the task that wrote it, from 1. */
  readonly run: number;
  readonly attempt: number;
  readonly json: string;
}

/** Some values of an output, in order. */
export interface OutputPart {
  /** How many values the output has. */
  readonly total: number;
  readonly values: readonly OutputValue[];
}

/** Reads a page of the output of each task. */
export const output =
  (script: Script) =>
  async (tag: string, items: readonly OutputPlace[]): Promise<OutputPart[]> => {
    const args = items.flatMap(({ id, from }) => [id, from]);
    return list(await script.text(tag, [items.length, ...args])).map((page) => {
      const [total, ...values] = list(page);
      return { total: number(total), values: values.map((value) => outputValue(text(value))) };
    });
  };

function outputValue(stored: string): OutputValue {
  const first = stored.indexOf(" ");
  const second = stored.indexOf(" ", first + 1);
  return {
    run: Number(stored.slice(0, first)),
    attempt: Number(stored.slice(first + 1, second)),
    json: stored.slice(second + 1),
  };
}
