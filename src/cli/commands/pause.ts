import type { Command } from "commander";
import type { Queue } from "../../wire/queue.ts";
import { counted } from "../../words/numbers.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { ask, connectionTo, queuePath } from "../server.ts";
import { note, printJson } from "../terminal/print.ts";

/** `paihao pause` and `paihao resume`. */
export function pauseCommands(): Command[] {
  return [
    clientCommand("pause <queue>", "start no more tasks of a queue", ["paihao pause default"]).action(
      clientAction((options: ClientOptions, queue: string) => act(options, queue, "pause")),
    ),
    clientCommand("resume <queue>", "start tasks of a paused queue again", ["paihao resume default"]).action(
      clientAction((options: ClientOptions, queue: string) => act(options, queue, "resume")),
    ),
  ];
}

async function act(options: ClientOptions, queue: string, verb: "pause" | "resume"): Promise<undefined> {
  const path = `${queuePath(queue)}/${verb}`;
  const found = await ask<Queue>(connectionTo(options), path, { method: "POST" });
  if (options.json) printJson(found);
  const waiting = `${counted(found.waiting, "task")} ${found.waiting === 1 ? "waits" : "wait"}`;
  if (found.paused)
    note(`${queue} is paused: ${waiting}, and ${found.running} still run; to continue: paihao resume ${queue}`);
  else note(`${queue} is running: ${waiting}`);
  return undefined;
}
