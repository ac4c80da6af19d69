import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { ROOT } from "../shared/root.ts";

const FOLDER = path.join(ROOT, "examples/clients");

/** How each file is run, and the package or program that it needs. */
const PROGRAMS: Readonly<Record<string, { readonly command: string; readonly needs?: string }>> = {
  "curl.sh": { command: "sh" },
  "openapi-fetch.mjs": { command: process.execPath, needs: "openapi-fetch" },
  "azure-lro.mjs": { command: process.execPath, needs: "@azure/core-lro" },
  "replicate.mjs": { command: process.execPath, needs: "replicate" },
};

describe("examples/clients", function () {
  this.timeout(60_000);
  let server: TestServer;
  before(async () => {
    server = await startServer({ HANDLERS: path.join(ROOT, "src/handlers"), REPLICATE: "true" });
  });
  after(() => server.stop());

  for (const [file, { command, needs }] of Object.entries(PROGRAMS)) {
    it(`${file} submits a task and prints its result`, async function () {
      if (needs !== undefined && !existsSync(path.join(ROOT, "node_modules", needs))) return this.skip();
      const ended = promisify(execFile)(command, [path.join(FOLDER, file)], {
        cwd: ROOT,
        env: { ...process.env, PAIHAO_URL: server.url },
      }).catch((error: NodeJS.ErrnoException) => error);
      const said = await ended;
      if (said instanceof Error && said.code === "ENOENT") return this.skip();
      if (said instanceof Error) throw said;
      const { stdout } = said;
      const last = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
      expect(last).to.have.property("seconds", 1);
    });
  }
});
