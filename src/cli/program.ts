import { Command } from "commander";
import { packageVersion } from "../version.ts";
import { command, globalOptions, withExamples } from "./command.ts";
import { againCommand } from "./commands/again.ts";
import { cancelCommand } from "./commands/cancel.ts";
import { deadCommand } from "./commands/dead.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { eventsCommand } from "./commands/events.ts";
import { gatewayCommand } from "./commands/gateway.ts";
import { getCommand } from "./commands/get.ts";
import { groupCommand } from "./commands/group.ts";
import { historyCommand } from "./commands/history.ts";
import { initCommand } from "./commands/init.ts";
import { keysCommand } from "./commands/keys.ts";
import { lsCommand, searchCommand } from "./commands/ls.ts";
import { moveCommand } from "./commands/move.ts";
import { outputCommand } from "./commands/output.ts";
import { pauseCommands, queuesCommand } from "./commands/queues.ts";
import { schedulesCommand } from "./commands/schedules.ts";
import { demoCommand, devCommand, startCommand } from "./commands/start.ts";
import { statusCommand } from "./commands/status.ts";
import { submitCommand } from "./commands/submit.ts";
import { topCommand } from "./commands/top.ts";
import { turnCommand } from "./commands/turn.ts";
import { verifyCommand } from "./commands/verify.ts";
import { watchCommand } from "./commands/watch.ts";
import { workersCommand } from "./commands/workers.ts";

/**
 * All commands. Their files declare options and help; what needs the server or the store is imported when a command runs, so that
 * the others start fast.
 */
export function createProgram(): Command {
  const program = new Command("paihao")
    .description("Take a number: a task server that tells everyone their place in line")
    .version(packageVersion())
    .exitOverride()
    .showHelpAfterError("(--help lists all commands)");
  // Arguments and options are in the help of each command.
  program
    .configureHelp({ subcommandTerm: (made) => made.name() })
    .addHelpCommand(
      command("help [command]", "show the help of a command", ["paihao help", "paihao help submit"]).helpGroup(
        "Other:",
      ),
    );
  for (const option of globalOptions()) program.addOption(option);

  program.commandsGroup("The server:");
  for (const made of [
    startCommand(),
    devCommand(),
    demoCommand(),
    gatewayCommand(),
    initCommand(),
    doctorCommand(),
    verifyCommand(),
    keysCommand(),
  ])
    program.addCommand(made);
  program.commandsGroup("Tasks:");
  for (const made of [
    submitCommand(),
    watchCommand(),
    turnCommand(),
    groupCommand(),
    getCommand(),
    statusCommand(),
    historyCommand(),
    outputCommand(),
    cancelCommand(),
    againCommand(),
    moveCommand(),
  ]) {
    program.addCommand(made);
  }
  program.commandsGroup("Queues:");
  for (const made of [
    queuesCommand(),
    lsCommand(),
    searchCommand(),
    ...pauseCommands(),
    deadCommand(),
    schedulesCommand(),
    topCommand(),
    eventsCommand(),
    workersCommand(),
  ])
    program.addCommand(made);
  return withExamples(program, ["paihao start", `paihao submit default '{"seconds":3}' --watch`, "paihao doctor"]);
}
