import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "chai";
import { exchange, startServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { ROOT } from "../shared/root.ts";

const text = readFileSync(join(ROOT, "docs/calling.md"), "utf8");
const SECRET = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;

describe("docs/calling.md", () => {
  let receiver: ChildProcess | undefined;
  afterEach(() => receiver?.kill("SIGKILL"));

  it("has a receiver that accepts what the server signs, once, and nothing else", async () => {
    const [, code = ""] = /```js\n([\s\S]*?)```/.exec(text) ?? [];
    const port = await reservePort();
    receiver = spawn(process.execPath, ["--input-type=module", "-e", code], {
      cwd: ROOT,
      env: { ...process.env, WEBHOOK_SECRET: SECRET, PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { stdout } = receiver;
    if (!stdout) throw new Error("the receiver has no output");
    const lines = createInterface(stdout);
    const hook = new URL(`http://127.0.0.1:${port}/hook`);
    await eventually(() => exchange(hook, { method: "POST", body: "{}", contract: false }));

    const server = await startServer({ WEBHOOK_SECRET: SECRET, WEBHOOK_ALLOW: "127.0.0.1" });
    const id = await server.enqueue("default", { n: 1 }, `?webhook=${encodeURIComponent(hook.href)}`);
    const [line] = await once(lines, "line");
    expect(line).to.match(new RegExp(`^task\\.succeeded ${id} \\{`));
    await server.stop();

    const forged = { "webhook-id": "msg_1", "webhook-timestamp": String(Math.floor(Date.now() / 1000)) };
    for (const signature of ["v1,AAAA", "v2,x", ""]) {
      const headers = { ...forged, "webhook-signature": signature };
      expect((await exchange(hook, { method: "POST", body: "{}", headers, contract: false })).status).to.equal(401);
    }
  });
});
