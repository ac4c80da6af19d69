import type { Status } from "../../client/status.ts";
import type { Output, Progress } from "../../wire/task.ts";
import { note, paint, plain, plainLines, printJsonLine } from "./print.ts";
import { canDraw, LiveLine } from "./screen.ts";
import { percentText, statusText } from "./task-text.ts";

/** How a task is shown while a person or a program waits for it. */
export interface ProgressView {
  status(status: Status): void;
  output(value: Output): void;
  /** A message about the watching itself. */
  say(line: string): void;
  /** Called before anything else is printed. */
  end(): void;
}

/** The view for where the output goes: NDJSON, a live line on a terminal, or one line for each change. */
export function openView({ json = false }: { json?: boolean | undefined }): ProgressView {
  if (json) return { status: printJsonLine, output: printJsonLine, say: note, end: () => undefined };
  return canDraw(process.stderr) ? new LiveView(process.stderr) : new LineView();
}

const BAR = { width: 24, done: "█", left: "░" } as const;

/** A bar and its percentage. */
export function barText(progress: Progress): string {
  const done = Math.round((Math.min(100, Math.max(0, progress.percent)) / 100) * BAR.width);
  return `${BAR.done.repeat(done)}${BAR.left.repeat(BAR.width - done)} ${percentText(progress)}`;
}

/** The text of a value that a handler has written: a string as it is, anything else as a line of JSON. */
export function outputText(data: unknown): string {
  return typeof data === "string" ? data : `${JSON.stringify(data)}\n`;
}

/** The message when a task starts again: its earlier output no longer counts. */
export const anewText = (attempt: number): string => `started again, attempt ${attempt}`;

/** One line at the bottom of the terminal, and above it what the handler writes. */
class LiveView implements ProgressView {
  readonly #stream: NodeJS.WriteStream;
  readonly #line: LiveLine;
  readonly #clock: NodeJS.Timeout;
  #status: Status | undefined;
  #since = 0;
  #run = 1;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#line = new LiveLine(stream);
    // Estimates arrive only with a change, and count down in between.
    this.#clock = setInterval(() => this.#draw(), 1000);
  }

  status(status: Status): void {
    this.#status = status;
    this.#since = performance.now();
    this.#draw();
  }

  output({ data, run, attempt }: Output): void {
    if (run > this.#run) this.#line.write(`\n${paint("yellow", anewText(attempt), this.#stream)}\n`);
    this.#run = run;
    this.#line.write(plainLines(outputText(data)));
  }

  say(line: string): void {
    this.#line.write(`${paint("yellow", line, this.#stream)}\n`);
  }

  end(): void {
    clearInterval(this.#clock);
    this.#line.clear();
    const status = this.#status;
    // For a failure, the command says more.
    if (status?.state === "succeeded") note(paint("green", statusText(status), this.#stream));
  }

  #draw(): void {
    const status = this.#status;
    if (!status) return;
    const text = plain(statusText(status, (performance.now() - this.#since) / 1000));
    const { progress } = status;
    const bar = status.state === "running" && progress ? `${paint("cyan", barText(progress), this.#stream)}  ` : "";
    const message = status.state === "running" && progress?.message ? plain(progress.message) : text;
    this.#line.show(`${status.label ? `${plain(status.label)}: ` : ""}${bar}${message}`);
  }
}

/** One line on stderr for each change. */
class LineView implements ProgressView {
  #last = "";
  #run = 1;

  status(status: Status): void {
    const { progress } = status;
    const far = status.state === "running" && progress ? [percentText(progress), progress.message ?? ""] : [];
    const words = [statusText(status), ...far];
    const line = plain(words.filter((word) => word !== "").join(", "));
    const name = status.label ? `${status.id} (${status.label})` : status.id;
    if (line !== this.#last) note(`${plain(name)}: ${line}`);
    this.#last = line;
  }

  output({ data, run, attempt }: Output): void {
    if (run > this.#run) note(anewText(attempt));
    this.#run = run;
    process.stderr.write(outputText(data));
  }

  say(line: string): void {
    note(line);
  }

  end(): void {}
}
