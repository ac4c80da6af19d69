import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Command } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import { runLine } from "../helpers/cli.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

const HANDLERS = path.join(ROOT, "test/fixtures/handlers/cli");

/** A command of the program, and its examples. */
interface Documented {
  readonly name: string;
  readonly help: string;
  readonly examples: readonly string[];
  /** It has commands of its own, and does nothing itself. */
  readonly isGroup: boolean;
}

/** Commands that have others, and do something themselves. */
const ACTING = ["paihao queues", "paihao workers"];

function documented(command: Command, before = ""): Documented[] {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  const name = `${before}${command.name()}`;
  const examples = help.split("\nExamples:\n")[1]?.trimEnd().split("\n") ?? [];
  const shown = command.createHelp().visibleCommands(command);
  return [
    { name, help, examples: examples.map((line) => line.trim()), isGroup: shown.length > 0 && !ACTING.includes(name) },
    ...shown.flatMap((sub) => documented(sub, `${name} `)),
  ];
}

describe("the help of each command", () => {
  const all = documented(createProgram());
  let server: TestServer;
  let dir: string;
  beforeEach(async () => {
    server = await startServer({ HANDLERS });
    dir = mkdtempSync(path.join(tmpdir(), "paihao-help-"));
    mkdirSync(path.join(dir, "handlers"));
    writeFileSync(
      path.join(dir, "handlers/hello.ts"),
      'import { defineHandler } from "paihao";\nexport const hello = defineHandler({ queue: "hello", run: () => 1 });\n',
    );
    writeFileSync(path.join(dir, "input.json"), '{"seconds":0}');
    writeFileSync(path.join(dir, "inputs.ndjson"), '{"seconds":0}\n{"seconds":0}\n');
    writeFileSync(path.join(dir, "keys"), `old:read:${"0".repeat(64)}\n`);
  });
  afterEach(async () => {
    rmSync(dir, { recursive: true });
    await server.stop();
  });

  /** The tasks that the examples name. */
  const prepare = async () => {
    const submit = async (queue: string, input: unknown, id: string, search = "") => {
      const headers = { "X-Request-Id": id, Prefer: "respond-async" };
      const at = `/v1/queues/${queue}/requests${search}`;
      expect((await server.send(at, { method: "POST", headers, body: input })).status).to.equal(202);
    };
    const worker = { worker: "gpu-box:1" };
    await server.send("/v1/queues/greet/leases", { method: "POST", headers: { Prefer: "wait=0" }, body: worker });
    for (const id of ["report-7", "photo-7"]) await submit("default", { seconds: 0 }, id);
    for (const id of ["report-8", "report-9"]) await submit("default", { seconds: 0 }, id, "?delay=3600");
    for (const id of ["greet-1", "greet-2"]) await submit("greet", 1, id);
    const headers = { "Content-Type": "application/x-ndjson" };
    const lines = { method: "POST", headers, body: '{"seconds":0}\n' };
    await server.send("/v1/queues/default/batches?group=upload-7", lines);
    const nightly = { queue: "default", input: { seconds: 0 }, cron: "0 3 * * *" };
    await server.send("/v1/schedules/nightly", { method: "PUT", body: nightly });
    for (const id of ["report-7", "photo-7"]) await server.until(id, "succeeded");
    await eventually(async () => (await server.send("/v1/queues/greet")).json.dead === 2);
  };

  const run = (example: string) =>
    runLine(
      example
        .replace("redis://localhost:6379", storeUrl())
        .replace("--port 8080", "--port 0")
        .replace(/^paihao init \S+$/, "$& --no-install"),
      {
        cwd: dir,
        env: {
          PAIHAO_URL: server.url,
          REDIS_URL: storeUrl(),
          KEY_PREFIX: server.prefix,
          PORT: "0",
          LOG_LEVEL: "error",
        },
      },
    );

  for (const { name, help, examples } of all.filter(({ isGroup }) => !isGroup)) {
    it(`${name} ends with examples that work`, async function () {
      this.timeout(120_000);
      expect(examples, help).to.have.length.above(0);
      await prepare();
      for (const example of examples) {
        expect(example).to.include(name);
        const { code, printed } = await run(example);
        expect(code, `${example}\n${printed}`).to.equal(0);
      }
    });
  }
});

describe("the help of a command", () => {
  const all = documented(createProgram());

  for (const { name, help } of all) {
    it(`${name} fits on a terminal of 80 columns`, () => {
      for (const line of help.split("\n")) expect(line.length, line).to.be.at.most(80);
    });

    it(`${name} gives a default time with its unit`, () => {
      for (const option of help.split(/\n(?= *-)/).filter((text) => text.includes("<time>"))) {
        expect(option.replaceAll(/\s+/g, " ")).not.to.match(/default: [\d.]+\)/);
      }
    });
  }
});
