import { jsonVerb, jsonVerbOnEach } from "../library/verb.ts";
import type { Lease } from "./lease.ts";

/** Maximum bytes of a page, as in attempt.lua; only the last value of a page may go beyond. */
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
  /** Unique to this call, see library/call.lua. */
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

/** What a running attempt leaves for operators. */
export interface AttemptLogItem extends Pick<Lease, "id" | "fence"> {
  /** A line of JSON. */
  readonly log: string;
}

/** Keeps what attempts that are about to end leave for operators; "stale" if the task no longer belongs to the worker. */
export const attemptLog = jsonVerbOnEach<AttemptLogItem, "ok" | "stale">({ sizeOf: ({ log }) => log.length });

/** A durable step of a task. */
export interface StoredStep {
  /** Its place in the order in which the steps of the task began. */
  readonly number: number;
  /** JSON; undefined while it is unknown whether it was done. */
  readonly json: string | undefined;
  /** Whether it was recorded as undoable, and whether it has been undone. */
  readonly undo: "none" | "due" | "done";
}
/** The verdict on the begin or the value of a step, see attempt.lua. */
export type StepVerdict = "ok" | "stale" | "canceled" | "deadline" | "abandoned" | "many" | "large";
/** Maximum number of steps of a task, and of bytes in all. */
interface StepRoom {
  readonly max: number;
  readonly bytes: number;
}

/** A call of `step`. */
interface StepCall extends Partial<StepRoom>, Pick<Lease, "id" | "fence"> {
  readonly verb: "read" | "begin" | "keep" | "undone";
  /** The name of the step; for reading, the cursor of the page, "0" for the first. */
  readonly name: string;
  readonly value?: string;
  readonly undo?: boolean;
}

/** The answer to it. */
interface StepAnswer {
  readonly verdict: StepVerdict;
  /** Where the next page begins; "0" after the last. */
  readonly cursor: string;
  /** By name, in no order. */
  readonly steps: readonly (readonly [name: string, step: StoredStep])[];
}

/** Reads or writes the durable steps of a running task. */
export const step = jsonVerb<StepCall, StepAnswer>({
  read: ({ verdict, cursor = "", page = [] }: { verdict: StepVerdict; cursor?: string; page?: string[] }) => ({
    verdict,
    cursor,
    steps: page.flatMap((name, n) => (n % 2 === 0 ? [[name, storedStep(page[n + 1] ?? "")] as const] : [])),
  }),
});

/** Parses a step as attempt.lua stores it. */
function storedStep(stored: string): StoredStep {
  const space = stored.indexOf(" ");
  const letter = stored[space - 1];
  return {
    number: Number.parseInt(stored, 10),
    json: stored.slice(space + 1) || undefined,
    undo: letter === "i" ? "due" : letter === "u" ? "done" : "none",
  };
}
