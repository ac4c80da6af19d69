import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { candidatesFor } from "../../src/cli/completion/candidates.ts";
import { createProgram } from "../../src/cli/program.ts";
import { builtCommand } from "../helpers/build.ts";
import { runCli } from "../helpers/cli.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";

const isThere = (shell: string) => spawnSync(shell, ["-c", "exit 0"]).status === 0;

describe("the words that complete a command", () => {
  const completing = async (line: string, queues: readonly string[] = ["countdown", "default"]) => {
    const asked: (string | undefined)[] = [];
    const names = async (url: string | undefined) => {
      asked.push(url);
      return queues;
    };
    const words = (await candidatesFor(createProgram(), line.split(" "), names)).map(({ word }) => word);
    return { words, asked };
  };

  it("are the commands, and after a command its subcommands", async () => {
    expect((await completing("")).words).to.include.members(["start", "submit", "dead", "completion"]);
    expect((await completing("")).words, "not for people").not.to.include("__complete");
    expect((await completing("st")).words).to.deep.equal(["start", "status"]);
    expect((await completing("dead ")).words).to.deep.equal(["ls", "retry", "delete"]);
    expect((await completing("keys create ")).words).to.deep.equal([]);
  });

  it("are the options of the command, and the values of an option that has few", async () => {
    expect((await completing("submit countdown --w")).words).to.deep.equal(["--wait", "--watch"]);
    expect((await completing("queues --u")).words).to.deep.equal(["--url"]);
    expect((await completing("ls countdown --state ")).words).to.deep.equal([
      "waiting",
      "scheduled",
      "running",
      "dead",
      "finished",
    ]);
    expect((await completing("completion ")).words).to.deep.equal(["bash", "zsh", "fish"]);
    expect((await completing("submit countdown --delay ")).words).to.deep.equal([]);
  });

  it("are the names of queues of the server in the command line", async () => {
    expect(await completing("ls c")).to.deep.equal({ words: ["countdown"], asked: [undefined] });
    expect((await completing("dead rm --a")).words, "an alias").to.deep.equal(["--all"]);
    expect(await completing("dead delete --url http://a:1 d")).to.deep.equal({
      words: ["default"],
      asked: ["http://a:1"],
    });
    expect(await completing("--url=http://a:1 submit d")).to.deep.equal({ words: ["default"], asked: ["http://a:1"] });
    expect((await completing("submit countdown ")).words, "its input").to.deep.equal([]);
    expect((await completing("watch ")).words, "an id").to.deep.equal([]);
  });
});

describe("paihao completion", function () {
  this.timeout(60_000);
  let server: TestServer;
  let dir: string;
  before(async () => {
    server = await startServer();
    dir = mkdtempSync(path.join(tmpdir(), "paihao-completion-"));
    const words = [process.execPath, ...builtCommand()].map((word) => `'${word}'`).join(" ");
    writeFileSync(path.join(dir, "paihao"), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  });
  after(async () => {
    rmSync(dir, { recursive: true });
    await server.stop();
  });

  /** Runs a script in a shell in which `paihao` is a command, beside the server. */
  const shell = (name: string, script: string) =>
    new Promise<string>((resolve, reject) => {
      const env = { PATH: `${dir}:${process.env.PATH}`, PAIHAO_URL: server.url, HOME: dir, TERM: "xterm" };
      const options = { env, cwd: dir, encoding: "utf8", timeout: 50_000 } as const;
      execFile(name, ["-c", script], options, (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(stdout.trim()),
      );
    });

  it("leaves out the queues that refuse the command", async () => {
    const completing = async (command: string) => {
      const { stdout } = await runCli(["__complete", command, ""], { env: { PAIHAO_URL: server.url } });
      return stdout.split("\n").map((line) => line.split("\t")[0]);
    };
    expect(await completing("ls")).to.include.members(["gated", "paihao.undo"]);
    expect(await completing("submit"))
      .to.include("gated")
      .and.not.include("paihao.undo");
    await server.send("/v1/queues/gated/pause", { method: "POST" });
    expect(await completing("resume")).to.deep.equal(["gated", ""]);
    expect(await completing("pause"))
      .to.include("gated-too")
      .and.not.include("gated");
  });

  it("completes in bash, with the queues of a server", async function () {
    if (!isThere("bash")) this.skip();
    const complete = (...words: string[]) =>
      shell(
        "bash",
        `source <(paihao completion bash)
        complete -p paihao
        COMP_WORDS=(paihao ${words.map((word) => `'${word}'`).join(" ")}) COMP_CWORD=${words.length}
        _paihao; printf '%s\\n' "\${COMPREPLY[@]}"`,
      );
    const [registered, ...found] = (await complete("ls", "gated")).split("\n");
    expect(registered).to.equal("complete -o default -F _paihao paihao");
    expect(found).to.deep.equal(["gated", "gated-too"]);
    expect(await complete("sub")).to.match(/\nsubmit$/);
  });

  it("completes in zsh", async function () {
    if (!isThere("zsh")) this.skip();
    const script = `autoload -Uz compinit; compinit -u; source <(paihao completion zsh)
      _describe() { print -l -- "\${(@P)3}" }
      words=(paihao ls gated) CURRENT=3; _paihao; print -- $_comps[paihao]`;
    expect((await shell("zsh", script)).split("\n")).to.deep.equal(["gated:queue", "gated-too:queue", "_paihao"]);
  });

  it("completes in fish", async function () {
    if (!isThere("fish")) this.skip();
    const found = await shell("fish", "paihao completion fish | source; complete -C 'paihao ls gated'");
    expect(found.split("\n")).to.deep.equal(["gated\tqueue", "gated-too\tqueue"]);
  });

  it("works without a server, and refuses other shells", async () => {
    const env = { PAIHAO_URL: "http://127.0.0.1:1" };
    expect(await runCli(["__complete", "--", "ls", ""], { env })).to.include({ code: 0, stdout: "" });
    expect(await runCli(["completion", "powershell"])).to.include({ code: 2, stdout: "" });
  });
});
