import { Argument, Command } from "commander";
import { isQueueName } from "../../task.ts";
import type { QueueAction, Queues } from "../../wire/queue.ts";
import { command } from "../command.ts";
import { candidatesFor } from "../completion/candidates.ts";
import { COMPLETION_SCRIPTS } from "../completion/scripts.ts";
import { ask, connectionTo, type ServerOptions } from "../server.ts";
import { print } from "../terminal/print.ts";

type Shell = keyof typeof COMPLETION_SCRIPTS;

/** Time limit for the server's answer, since a person who pressed Tab is waiting. */
const PATIENCE_MS = 1500;

/** Commands that some queues refuse: the `actions` of a queue list what it takes from this key, by the same names. */
const REFUSED: readonly QueueAction[] = ["submit", "pause", "resume", "retry"];

/** `paihao completion`: the script that completes commands in a shell. */
export function completionCommand(): Command {
  return command("completion", "print a script for completion with Tab", [
    "source <(paihao completion bash)",
    "paihao completion zsh > _paihao",
    "paihao completion fish > paihao.fish",
  ])
    .addArgument(new Argument("<shell>", "which one").choices(Object.keys(COMPLETION_SCRIPTS)))
    .action((shell: Shell) => {
      process.stdout.write(COMPLETION_SCRIPTS[shell]);
    });
}

/** The command that the scripts call; not for people. @param program with all commands */
export function completeCommand(program: Command): Command {
  return new Command("__complete").argument("[words...]").action(async function (this: Command, words: string[]) {
    const options = this.optsWithGlobals<ServerOptions>();
    const queueNames = async (url = options.url, name = "") => {
      try {
        const signal = AbortSignal.timeout(PATIENCE_MS);
        const { items } = await ask<Queues>(connectionTo({ ...options, url }), "/v1/queues", { signal });
        const action = REFUSED.find((refused) => refused === name);
        const able = items.filter(({ actions }) => !action || (actions?.includes(action) ?? true));
        return able.map((queue) => queue.name).filter(isQueueName);
      } catch {
        // A completion has no place to show an error.
        return [];
      }
    };
    for (const { word, description } of await candidatesFor(program, words, queueNames)) {
      print(`${word}\t${description}`);
    }
  });
}
