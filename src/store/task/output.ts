import { jsonVerbOnEach } from "../library/verb.ts";
import type { Lease } from "./lease.ts";

/** Maximum bytes of a page, as in output.lua; only the last value of a page may go beyond. */
export const OUTPUT_PAGE_BYTES = 16_384;

/** The place from which the output of a task is read. */
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

/** Values that a handler has written together. */
export interface OutputItem extends Pick<Lease, "id" | "fence"> {
  /** Unique to this call, see output.lua. */
  readonly call: string;
  /** Each as JSON. */
  readonly values: readonly string[];
  /** Maximum size of all values of the task together, bytes. */
  readonly maxBytes: number;
  /** Store all of these values or none; otherwise as many as fit. */
  readonly all: boolean;
}

/** How many of the values were stored, from the first on; or "stale" if the task no longer belongs to the worker. */
export type WriteAnswer = number | "stale";

/** The progress of a running task. */
export interface ProgressReport {
  readonly id: string;
  readonly fence: string;
  /** Percent, a space, message. */
  readonly progress: string;
}

/** Reads a page of the output of each task. */
export const output = jsonVerbOnEach<OutputPlace, OutputPart>(
  { sizeOf: () => OUTPUT_PAGE_BYTES },
  {
    read: (pages: readonly { readonly total: number; readonly values: readonly string[] }[]) =>
      pages.map(({ total, values }) => ({ total, values: values.map(outputValue) })),
  },
);

/** Appends values to the output of running tasks. */
export const write = jsonVerbOnEach<OutputItem, WriteAnswer>(
  { sizeOf: ({ values }) => values.reduce((sum, value) => sum + value.length, 0) },
  { read: (verdicts: readonly string[]) => verdicts.map((of) => (of === "stale" ? "stale" : Number(of))) },
);

/** Stores the progress of running tasks. */
export const progress = jsonVerbOnEach<ProgressReport, "ok" | "stale">();

function outputValue(stored: string): OutputValue {
  const first = stored.indexOf(" ");
  const second = stored.indexOf(" ", first + 1);
  return {
    run: Number(stored.slice(0, first)),
    attempt: Number(stored.slice(first + 1, second)),
    json: stored.slice(second + 1),
  };
}
