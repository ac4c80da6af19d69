import { PaihaoError } from "../../client/problem.ts";
import { CommandError, EXIT, type ExitCode, failureOf } from "../exit.ts";
import { note, printJsonLine } from "../terminal/print.ts";

/**
 * Does something to tasks, one after the other. It goes on if a task is refused, and ends if the server does not answer or refuses the key.
 * @returns the first exit code that is not 0
 */
export async function forEachId(
  ids: readonly string[],
  { json }: { readonly json?: boolean },
  act: (id: string) => Promise<ExitCode>,
): Promise<ExitCode> {
  let first: ExitCode = EXIT.done;
  for (const id of ids) {
    let exitCode: ExitCode;
    try {
      exitCode = await act(id);
    } catch (error) {
      const isAboutTask =
        error instanceof CommandError ||
        (error instanceof PaihaoError && error.kind !== "unreachable" && error.kind !== "unauthorized");
      if (ids.length === 1 || !isAboutTask) throw error;
      const failure = failureOf(error);
      exitCode = failure.exitCode;
      note(`paihao: ${id}: ${failure.message}`);
      if (json && error instanceof PaihaoError) printJsonLine(error.problem);
    }
    if (first === EXIT.done) first = exitCode;
  }
  return first;
}
