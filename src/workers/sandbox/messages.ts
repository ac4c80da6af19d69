import type { AbortCause, ErrorRecord, HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import type { StepVerdict, StoredStep } from "../../store/task/attempt.ts";
import type { WriteVerdict } from "../attempt/output.ts";
import type { HandlerLimits, TaskFacts } from "../attempt/task-context.ts";

/*
 * The messages between a worker and a sandbox (a child process that runs one handler at a time), as plain data. `run`
 * numbers the attempts of a sandbox, so that messages left over from an earlier one are ignored.
 */

export type ToSandbox =
  /** Asks to load all that the handlers of a directory will need, and none of them yet. Not answered. */
  | { readonly type: "warm"; readonly handlersDir: string; readonly modules: readonly string[] }
  /** Asks to load the handlers, once. Answered with `ready` or `broken`. */
  | { readonly type: "open"; readonly handlersDir: string; readonly modules: readonly string[] }
  | {
      readonly type: "run";
      readonly run: number;
      readonly facts: TaskFacts;
      readonly input: Uint8Array;
      readonly limits: HandlerLimits;
      readonly logLevel: string;
    }
  | { readonly type: "abort"; readonly run: number; readonly cause: AbortCause }
  /** The reply to a call; `error` is the message of an error. */
  | { readonly type: "reply"; readonly call: number; readonly value: Reply }
  | { readonly type: "reply"; readonly call: number; readonly error: string };

/** The answers of {@link StepStore}: the steps, or the verdict on one. */
export type StepsReply = Map<string, StoredStep> | null;
export type Reply = StepsReply | StepVerdict | WriteVerdict;

export type FromSandbox =
  | { readonly type: "ready" }
  | { readonly type: "broken"; readonly error: ErrorRecord }
  | { readonly type: "progress"; readonly run: number; readonly percent: number; readonly message: string }
  /** A value that the handler writes, as JSON. */
  | { readonly type: "write"; readonly run: number; readonly call: number; readonly json: string }
  /** A line of the handler's log, as JSON. */
  | { readonly type: "log"; readonly run: number; readonly line: string }
  /** A line about no run, as JSON. */
  | { readonly type: "stray"; readonly line: string }
  | { readonly type: "load"; readonly run: number; readonly call: number }
  | {
      readonly type: "begin";
      readonly run: number;
      readonly call: number;
      readonly name: string;
      readonly undo: boolean;
    }
  | {
      readonly type: "keep";
      readonly run: number;
      readonly call: number;
      readonly name: string;
      readonly json: string;
      readonly undo: boolean;
    }
  | { readonly type: "undone"; readonly run: number; readonly call: number; readonly name: string }
  /** `spoiled`: the sandbox is in an unknown state and must not be reused. */
  | { readonly type: "done"; readonly run: number; readonly end: HandlerEnd; readonly spoiled?: boolean };
