import type { Command } from "commander";
import { command } from "../command.ts";
import type { Finding } from "../doctor/finding.ts";
import { EXIT } from "../exit.ts";
import { paint, plain, print, printJson } from "../terminal/print.ts";

const MARKS = { ok: ["green", "✔"], warning: ["yellow", "!"], error: ["red", "✘"] } as const;

/** `paihao doctor`: whether the server can run here, and what to do if not. */
export function doctorCommand(): Command {
  return command("doctor", "check whether the server can run here", [
    "paihao doctor",
    "REDIS_URL=redis://localhost:6379 paihao doctor --heal",
    "paihao doctor --json",
  ])
    .option("--heal", "repair the index if it disagrees with the tasks")
    .option("--json", "print JSON")
    .action(async ({ heal = false, json = false }: { heal?: boolean; json?: boolean }) => {
      const { examine } = await import("../doctor/doctor.ts");
      const findings: Finding[] = [];
      for await (const finding of examine({ heal })) {
        findings.push(finding);
        if (!json) show(finding);
      }
      const errors = findings.filter(({ level }) => level === "error").length;
      if (json) printJson({ ok: errors === 0, findings });
      // Handlers that were loaded may keep the process alive, e.g. by a connection of their own.
      process.stdout.write("", () => process.exit(errors === 0 ? EXIT.done : EXIT.failed));
    });
}

function show({ check, level, message, advice }: Finding): void {
  const [style, mark] = MARKS[level];
  print(`${paint(style, mark)} ${check.padEnd(11)}  ${plain(message)}`);
  if (advice !== undefined) print(`  ${" ".repeat(11)}  ${paint("bold", "→")} ${plain(advice)}`);
}
