import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import { Webhook } from "standardwebhooks";
import { builtSettings } from "../helpers/build.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { ROOT } from "../shared/root.ts";
import { guideFolder, writeGuide } from "./guide.ts";

const SECRET = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;

describe("docs/client.md", function () {
  this.timeout(60_000);
  let folder = "";
  let server: TestServer;
  let files: readonly string[];
  before(async () => {
    folder = guideFolder();
    files = writeGuide("client.md", folder);
    writeFileSync(path.join(folder, "queues/queues.json"), '{ "gpu": { "turns": 1 } }');
    server = await startServer({
      HANDLERS: path.join(folder, "queues"),
      URL_SIGNING_KEY: "a secret of at least 16 characters",
    });
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  /** What a file prints; not synchronously, since the server is in this process. */
  async function said(file: string): Promise<string> {
    const env = { ...process.env, PAIHAO_URL: server.url, TSX_TSCONFIG_PATH: builtSettings() };
    const args = ["--import", "tsx", path.join(folder, file)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
    return stdout;
  }

  it("has these programs, whose types are right", () => {
    const programs = ["run.ts", "steps.ts", "group.ts", "turn.ts", "errors.ts", "batch.ts", "link.ts", "webhook.ts"];
    expect(files).to.deep.equal(["queues/handlers.ts", ...programs]);
  });

  it("runs a task, with what its handler writes", async () => {
    const lines = (await said("run.ts")).trim().split("\n");
    expect(lines.at(-1)).to.equal("Hello, Ada!");
    expect(lines).to.include.members(["written: Hello,", "written: Ada"]);
  });

  it("does it step by step", async () => {
    const text = await said("steps.ts");
    expect(text).to.match(/^\d{16,30} 0 /);
    expect(text).to.include("written: Ada\nHello, Ada!\n").and.include("'greet: 0 waiting'");
  });

  it("distinguishes errors", async () => {
    expect(await said("errors.ts"))
      .to.match(/^refused invalid-input \[/)
      .and.include("pointer: '#/name'");
  });

  it("submits many, and reads by a signed link", async () => {
    expect(await said("batch.ts")).to.match(/^0 \w+ \d+\n1 The queue does not accept this input\n2 \w+ \d+\n$/);
    expect(await said("link.ts"))
      .to.match(/^(waiting\n)?(running\n)?succeeded\n/)
      .and.include("Hello, Ada!");
  });

  it("makes a group of them, and gets all results", async () => {
    const results = (await said("group.ts")).trim().split("\n");
    expect(results.map((line) => JSON.parse(line).data.text)).to.deep.equal(["Hello, Ada!", "Hello, Bob!"]);
  });

  it("takes a turn", async () => {
    expect(await said("turn.ts")).to.match(/^(waiting 0\n)?running 0\n(succeeded null\n)?0\.2\n$/);
  });

  it("verifies webhooks", async () => {
    const { POST } = (await import(pathToFileURL(path.join(folder, "webhook.ts")).href)) as {
      POST(request: Request): Promise<Response>;
    };
    const body = JSON.stringify({ type: "task.succeeded", timestamp: "", data: { id: "x", state: "succeeded" } });
    const now = new Date();
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": new Webhook(SECRET).sign("msg_1", now, body),
    };
    const { WEBHOOK_SECRET } = process.env;
    process.env.WEBHOOK_SECRET = SECRET;
    try {
      const post = (text: string) => POST(new Request("http://127.0.0.1/", { method: "POST", headers, body: text }));
      expect((await post(body)).status).to.equal(204);
      expect((await post(`${body} `)).status).to.equal(401);
    } finally {
      if (WEBHOOK_SECRET === undefined) delete process.env.WEBHOOK_SECRET;
      else process.env.WEBHOOK_SECRET = WEBHOOK_SECRET;
    }
  });
});
