import type { Config } from "../../config/config.ts";
import { messageOf, StartError } from "../../errors.ts";
import { loadHandlers, shippedHandlersDir } from "../../handler/load.ts";
import { type Finding, failure, ok } from "./finding.ts";

const CHECK = "handlers";

/** Whether the handlers can be loaded, as the server loads them, and their queues. */
export async function checkHandlers({
  handlersDir,
}: Pick<Config, "handlersDir">): Promise<{ finding: Finding; queues: readonly string[] }> {
  const where = handlersDir ?? "those that ship with the server; HANDLERS names others";
  try {
    const queues = [...(await loadHandlers(handlersDir ?? shippedHandlersDir)).keys()];
    return { finding: ok(CHECK, `${queues.join(", ")} (${where})`), queues };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const advice = "fix that file, or set HANDLERS to another directory";
    return { finding: failure(CHECK, messageOf(error), advice), queues: [] };
  }
}
