import { pino } from "pino";
import type { HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import { messageOf } from "../../errors.ts";
import { type Logger, runInScope } from "../../log.ts";
import type { Attempt } from "../attempt/attempt.ts";
import type { HandlerLimits } from "../attempt/task-context.ts";
import type { SandboxPort } from "./child-port.ts";
import { awaitEnd } from "./executor.ts";
import { errorForLog } from "./handler-end.ts";
import type { FromSandbox, Reply } from "./messages.ts";

/** How long a sandbox may take to load the handlers, ms. */
const BOOT_MS = 60_000;

/** The options of {@link Sandbox}. */
export interface SandboxOptions {
  readonly handlersDir: string;
  /** The modules of the handlers that work on behalf of others. */
  readonly modules?: readonly string[];
  readonly limits: HandlerLimits;
  readonly log: Logger;
}

/** A child process that runs one handler at a time, as seen by the worker. */
export class Sandbox {
  readonly #port: SandboxPort;
  readonly #options: SandboxOptions;
  #gone = false;
  /** Why it can no longer run anything, once that is known. */
  #lost: Extract<HandlerEnd, { kind: "lost" }> | undefined;
  #runs = 0;
  #current: { run: number; attempt: Attempt; done(end: HandlerEnd): void; spoiled?: HandlerEnd } | undefined;
  #onBoot: (error?: Error) => void = () => {};

  constructor(port: SandboxPort, options: SandboxOptions) {
    this.#port = port;
    this.#options = options;
    void port.gone.then((how) => {
      this.#gone = true;
      this.#onBoot(new Error(how));
      this.#lost = { kind: "lost", how };
      this.#current?.done(this.#current.spoiled ?? this.#lost);
    });
    port.listen((message) => this.#receive(message));
  }

  /** Prepares for {@link load}: what the handlers need is loaded, and none of them. */
  warm(): void {
    const { handlersDir, modules = [] } = this.#options;
    this.#port.post({ type: "warm", handlersDir, modules });
  }

  /** Loads the handlers, once; resolves when it can run them. Rejects if it never will, and ends then. */
  async load(): Promise<void> {
    const { handlersDir, modules = [] } = this.#options;
    let late: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#onBoot = (error) => (error ? reject(error) : resolve());
        late = setTimeout(() => reject(new Error(`the handlers were not loaded in ${BOOT_MS} ms`)), BOOT_MS);
        if (this.#lost) reject(new Error(this.#lost.how));
        else this.#port.post({ type: "open", handlersDir, modules });
      });
    } catch (error) {
      void this.kill();
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  /** Whether it can be reused. */
  get alive(): boolean {
    return !this.#gone;
  }

  /** Whether it has not run any handler yet. */
  get unused(): boolean {
    return this.#runs === 0;
  }

  /** Runs the handler of an attempt; if it still runs a grace period after its signal fired, the sandbox is terminated. */
  async run(attempt: Attempt): Promise<HandlerEnd> {
    const { facts, input, log } = attempt;
    if (!attempt.begin()) return { kind: "unbegun" };
    this.#runs += 1;
    const run = this.#runs;
    const answered = new Promise<HandlerEnd>((done) => {
      this.#current = { run, attempt, done };
      if (this.#lost) done(this.#lost);
    });
    this.#port.post({
      type: "run",
      run,
      facts,
      // A copy: the original may be a view into a larger buffer, all of which would be sent.
      input: new Uint8Array(input.bytes),
      limits: this.#options.limits,
      logLevel: log.level,
    });
    // The sandbox ignores messages for a run that is over.
    attempt.whenAborted(() => this.#port.post({ type: "abort", run, cause: attempt.aborted ?? "shutdown" }));
    try {
      const end = await awaitEnd(attempt, answered, (leave) => void leave());
      if (end.kind === "overdue") await this.kill();
      return end;
    } finally {
      this.#current = undefined;
    }
  }

  /** Terminates the sandbox; a handler running in it is lost. */
  async kill(): Promise<void> {
    this.#gone = true;
    await this.#port.kill();
  }

  #receive(message: FromSandbox): void {
    if (message.type === "ready") return this.#onBoot();
    // The event fires in the async context in which the sandbox was started; the line names its task itself.
    if (message.type === "stray")
      return runInScope({ requestId: undefined }, () => relayLog(this.#options.log, message.line));
    if (message.type === "broken") return this.#onBoot(new Error(message.error.message));
    const current = this.#current;
    // A message of an earlier run.
    if (current === undefined || message.run !== current.run) return;
    const { attempt } = current;
    // The event fires in the async context in which the sandbox was started, perhaps that of another task.
    runInScope({ requestId: attempt.task.id }, () => {
      if (message.type === "done") {
        if (!message.spoiled) return current.done(message.end);
        // The handler may still run: it has ended only when the sandbox has.
        current.spoiled = message.end;
        void this.kill();
      } else if (message.type === "progress") attempt.reporter.report(message.percent, message.message);
      else if (message.type === "log") relayLog(attempt.handlerLog, message.line);
      else if (message.type === "write") this.#reply(message.call, attempt.output.write(message.json));
      else if (message.type === "load") this.#reply(message.call, attempt.steps.load());
      else if (message.type === "begin") this.#reply(message.call, attempt.steps.begin(message.name, message.undo));
      else if (message.type === "keep")
        this.#reply(message.call, attempt.steps.keep(message.name, message.json, message.undo));
      else if (message.type === "undone") this.#reply(message.call, attempt.steps.undone(message.name));
    });
  }

  #reply(call: number, answer: Promise<Reply>): void {
    answer.then(
      (value) => this.#port.post({ type: "reply", call, value }),
      (error: unknown) => this.#port.post({ type: "reply", call, error: messageOf(error) }),
    );
  }
}

/** Writes a log line of another process to the log of this one. */
function relayLog(log: Logger, line: string): void {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(line) as Record<string, unknown>;
  } catch {
    log.info(line);
    return;
  }
  const { level, time: _time, pid: _pid, msg, err, ...rest } = fields;
  const label = pino.levels.labels[Number(level)];
  const write = label === undefined ? "info" : (label as "info");
  log[write](
    { ...rest, ...(err !== undefined && { err: errorForLog(err) }) },
    typeof msg === "string" ? msg : undefined,
  );
}
