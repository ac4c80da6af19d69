import type { FromSandbox, ToSandbox } from "./messages.ts";

/** A line to the inside of a sandbox, and the means to end it. */
export interface SandboxPort {
  /** Says something; without effect when the sandbox is gone. */
  post(message: ToSandbox): void;
  /** Sets who is told what the sandbox says. */
  listen(listener: (message: FromSandbox) => void): void;
  /** Resolves when the sandbox is gone and has been heard to the last word, with how it ended. */
  readonly gone: Promise<string>;
  /** Ends the sandbox, whatever it does. Resolves when it is gone. */
  kill(): Promise<void>;
}
