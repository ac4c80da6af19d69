import type { FromSandbox, ToSandbox } from "./messages.ts";

/** The connection to a sandbox, which can also end it. */
export interface SandboxPort {
  /** Sends a message; without effect if the sandbox is gone. */
  post(message: ToSandbox): void;
  /** Sets the listener for messages of the sandbox. */
  listen(listener: (message: FromSandbox) => void): void;
  /** Resolves when the sandbox is gone and all its messages are read, with how it ended. */
  readonly gone: Promise<string>;
  /** Terminates the sandbox, whatever it does. Resolves when it is gone. */
  kill(): Promise<void>;
}
