import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { EXIT } from "../../src/cli/exit.ts";
import { createProgram } from "../../src/cli/program.ts";
import { runLine } from "../helpers/cli.ts";
import { startServer } from "../helpers/http/server.ts";
import { ROOT } from "../shared/root.ts";

const HANDLERS = join(ROOT, "test/fixtures/handlers/cli");
const text = readFileSync(join(ROOT, "docs/cli.md"), "utf8");

/** The commands in the blocks of a page, each with the exit code that the page gives. */
function linesOf(page: string): { line: string; code: number }[] {
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = ""]) => block.trim().split("\n"));
  return blocks
    .filter((line) => line.includes("paihao "))
    .map((line) => {
      const [command = "", code = "0"] = line.split(/\s+# → /);
      return { line: command, code: Number(code) };
    });
}

describe("docs/cli.md", () => {
  it("shows lines that end with the exit codes that it gives", async function () {
    this.timeout(120_000);
    const server = await startServer({ HANDLERS });
    const cwd = mkdtempSync(join(tmpdir(), "paihao-cli-docs-"));
    writeFileSync(join(cwd, "input.json"), '{"seconds":0}');
    try {
      const lines = linesOf(text);
      expect(lines).to.have.length.above(10);
      for (const { line, code } of lines) {
        const run = await runLine(line, { cwd, env: { PAIHAO_URL: server.url } });
        expect(run.code, `${line}\n${run.printed}`).to.equal(code);
      }
    } finally {
      rmSync(cwd, { recursive: true });
      await server.stop();
    }
  });

  it("names every command, and none that does not exist", () => {
    const [, table = ""] = /## Commands\n(.*?)\n## /s.exec(text) ?? [];
    const named = [...table.matchAll(/^\| (.*?) \| /gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([a-z]+)/g)].map(([, name]) => name),
    );
    const program = createProgram();
    const names = program
      .createHelp()
      .visibleCommands(program)
      .map((command) => command.name());
    expect([...new Set(named)]).to.have.members(names);
  });

  it("names the commands of commands, and none that does not exist", () => {
    const [, table = ""] = /## Commands\n(.*?)\n## /s.exec(text) ?? [];
    for (const command of createProgram().commands) {
      const names = command.commands.map((sub) => sub.name());
      const named = [...table.matchAll(new RegExp(`\`${command.name()} \\[?((?:[a-z]+(?:\\\\\\|)?)+)`, "g"))];
      expect([...new Set(named.flatMap(([, words = ""]) => words.split("\\|")))], command.name()).to.have.members(
        names,
      );
    }
    // Other names that the texts beside them give.
    const aliases = createProgram().commands.flatMap((command) =>
      [command, ...command.commands].flatMap((one) => one.aliases()),
    );
    expect([...table.matchAll(/also `([a-z]+)`/g)].map(([, name]) => name)).to.have.members(aliases);
  });

  it("gives every exit code", () => {
    const codes = [...text.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(codes).to.have.members(Object.values(EXIT));
  });
});

describe("README.md", () => {
  it("shows commands that work", async function () {
    this.timeout(60_000);
    const server = await startServer({ HANDLERS });
    try {
      const lines = linesOf(readFileSync(join(ROOT, "README.md"), "utf8")).filter(({ line }) =>
        / (submit|queues)\b/.test(line),
      );
      expect(lines).to.have.lengthOf(2);
      for (const { line } of lines) {
        const run = await runLine(line.replace("npx ", ""), { cwd: ROOT, env: { PAIHAO_URL: server.url } });
        expect(run.code, `${line}\n${run.printed}`).to.equal(0);
      }
    } finally {
      await server.stop();
    }
  });
});
