import { type Command, Option } from "commander";
import type { Status } from "../../client/status.ts";
import { type Turn, takeTurn } from "../../client/turn.ts";
import { duration } from "../../words/numbers.ts";
import { DURATION_HELP, readDuration, readTimeout } from "../arguments.ts";
import { clientAction, silentCommand } from "../command.ts";
import { isMissing } from "../environment.ts";
import { EXIT, exitCodeOfSignal, failureOf } from "../exit.ts";
import { notFound, type RunningProgram, startProgram } from "../run-program.ts";
import { connectionTo, queuePath, reach, type ServerOptions } from "../server.ts";
import { note, plain } from "../terminal/print.ts";
import { openView } from "../terminal/progress.ts";
import { canDraw } from "../terminal/screen.ts";

interface Options extends ServerOptions {
  readonly label?: string;
  readonly presence?: number;
  readonly waitAtMost?: number;
  readonly onLoss: "warn" | "stop";
}

/** `paihao turn`: runs a command when it is one's turn. */
export function turnCommand(): Command {
  return silentCommand("turn <queue> <command...>", "wait for your turn, run a command, and end the turn with it", [
    "paihao turn gpu -- echo 'it is our turn'",
    "paihao turn gpu --label training --wait-at-most 30m --on-loss stop -- sleep 1",
  ])
    .usage("[options] <queue> -- <command...>")
    .option("--label <text>", "what people call it")
    .option(
      "--presence <time>",
      "the server gives the place or turn away when it has not heard of this command for this time: 5s to 1h",
      readDuration,
    )
    .option("--wait-at-most <time>", `leave the line after this: ${DURATION_HELP}`, readTimeout)
    .addOption(
      new Option("--on-loss <what>", "when the turn is lost, warn, or stop the command, too")
        .choices(["warn", "stop"])
        .default("warn"),
    )
    .action(clientAction(run));
}

/** How long the end of a turn is told to a server that is away, and how long a command may take to end after TERM. */
const END_MS = 10_000;
const STOP_MS = 10_000;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The reason for leaving the line. */
class Left extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, why: string) {
    super(`${why}; the place in line is given up`);
    this.exitCode = exitCode;
  }
}

/** @returns the exit code of the command, or why it has not run */
async function run(options: Options, queue: string, [file = "", ...args]: readonly string[]): Promise<number> {
  queuePath(queue);
  // Better now than when the turn comes. One with a path may be made until then.
  if (isMissing(file)) return notFound(file);
  const { label, presence, waitAtMost, onLoss } = options;
  const waiting = new AbortController();
  const leave = (exitCode: number, why: string) => waiting.abort(new Left(exitCode, why));
  const view = openView({});
  const isWorthALine = fewLines();
  let program: RunningProgram | undefined;
  let exitCode: number | undefined;
  let isLost = false;

  const onSignal = (signal: NodeJS.Signals) => {
    if (exitCode !== undefined) process.exit(exitCode);
    if (program) program.pass(signal);
    else if (waiting.signal.aborted) process.exit(exitCodeOfSignal(signal));
    else leave(exitCodeOfSignal(signal), "interrupted");
  };
  // The view would write over what the command has written.
  const say = (line: string) => (program ? note(line) : view.say(line));
  const away = () => say(`the server is away; ${program ? "the command goes on" : "trying again"}`);
  const back = () => say("the server is back");
  const timer =
    waitAtMost === undefined
      ? undefined
      : setTimeout(() => leave(EXIT.timeout, `it was not our turn within ${duration(waitAtMost / 1000)}`), waitAtMost);
  let ending: NodeJS.Timeout | undefined;

  const work = async ({ id, fence, signal }: Turn) => {
    clearTimeout(timer);
    view.end();
    note(`your turn in ${queue}: ${plain(file)} runs`);
    program = startProgram(file, args, { PAIHAO_TURN: id, PAIHAO_FENCE: String(fence) });
    signal.addEventListener("abort", () => {
      isLost = true;
      const { message } = failureOf(signal.reason);
      note(
        `paihao: the turn is lost: ${message}; ${onLoss === "stop" ? "stopping the command" : "the command goes on"}`,
      );
      if (onLoss === "stop") program?.stop(STOP_MS);
    });
    exitCode = await program.ended;
    ending = setTimeout(() => {
      note("paihao: the server could not be told that the turn is over; it ends with its presence");
      process.exit(exitCode);
    }, END_MS);
    return { exitCode };
  };

  for (const signal of SIGNALS) process.on(signal, onSignal);
  reach.on("away", away).on("back", back);
  try {
    await takeTurn(
      connectionTo(options),
      queue,
      work,
      {
        ...(label !== undefined && { label }),
        ...(presence !== undefined && { presence }),
        signal: waiting.signal,
        onUpdate: (status) => {
          if (isInLine(status) && (canDraw(process.stderr) || isWorthALine(status))) view.status(status);
        },
      },
      connectionTo(options, "watching"),
    );
  } catch (error) {
    if (!program) view.end();
    if (exitCode === undefined && !(error instanceof Left)) throw error;
    if (error instanceof Left) note(`paihao: ${error.message}`);
    else if (!isLost) note(`paihao: the server was not told that the turn is over: ${failureOf(error).message}`);
    return exitCode ?? (error as Left).exitCode;
  } finally {
    clearTimeout(timer);
    clearTimeout(ending);
    for (const signal of SIGNALS) process.off(signal, onSignal);
    reach.off("away", away).off("back", back);
  }
  return exitCode ?? EXIT.failed;
}

const isInLine = ({ state }: Status): boolean => state === "waiting" || state === "scheduled";

/** Where lines are not rewritten: which places are worth one. The first is, and then each that is at most half of the last one told. */
function fewLines(): (status: Status) => boolean {
  let last: number | undefined;
  return ({ index }) => {
    const place = index ?? Infinity;
    if (last !== undefined && !(place < last && place <= last / 2)) return false;
    last = place;
    return true;
  };
}
