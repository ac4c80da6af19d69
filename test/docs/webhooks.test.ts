import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "chai";
import { RESULT_LIMIT } from "../../src/engine/reading/result-json.ts";
import { REQUEST_DEFAULTS } from "../../src/webhooks/request.ts";
import { ATTEMPTS, pauseMs, SCHEDULE } from "../../src/webhooks/schedule.ts";
import { signatureOf } from "../../src/webhooks/signature.ts";
import { TARGET_DEFAULTS } from "../../src/webhooks/target.ts";
import { exchange, startServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { ROOT } from "../shared/root.ts";

const text = readFileSync(join(ROOT, "docs/webhooks.md"), "utf8");
const prose = text.replaceAll(/\s+/g, " ");
const SECRET = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const HOUR_MS = 3_600_000;

describe("docs/webhooks.md", () => {
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
    await eventually(() => exchange(hook, { method: "POST", body: "{}" }));

    const server = await startServer({ WEBHOOK_SECRET: SECRET, WEBHOOK_ALLOW: "127.0.0.1" });
    const id = await server.enqueue("default", { n: 1 }, `?webhook=${encodeURIComponent(hook.href)}`);
    const [line] = await once(lines, "line");
    expect(line).to.match(new RegExp(`^task\\.succeeded ${id} \\{`));
    await server.stop();

    const forged = { "webhook-id": "msg_1", "webhook-timestamp": String(Math.floor(Date.now() / 1000)) };
    for (const signature of ["v1,AAAA", "v2,x", ""]) {
      const headers = { ...forged, "webhook-signature": signature };
      expect((await exchange(hook, { method: "POST", body: "{}", headers })).status).to.equal(401);
    }
  });

  it("explains how to verify a signature by hand", () => {
    expect(prose).to.include("`{webhook-id}.{webhook-timestamp}.{body}`");
    const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
    const byHand = createHmac("sha256", key).update("msg_1.1.{}").digest("base64");
    expect(signatureOf([SECRET], { id: "msg_1", timestampS: 1, body: "{}" })).to.equal(`v1,${byHand}`);
  });

  it("states the actual limits and schedule", () => {
    const totalMs = (chance: number) =>
      Array.from({ length: ATTEMPTS - 1 }, (_, i) => pauseMs(i + 1, chance)).reduce((sum, ms) => sum + ms, 0);
    expect(prose).to.include(`The first retry comes after about ${SCHEDULE.baseMs / 1000} seconds`);
    expect(prose).to.include(
      `up to ${SCHEDULE.maxMs / HOUR_MS} hours, each ± ${Math.round(100 - (100 * pauseMs(1, 0)) / pauseMs(1, 0.5))} %`,
    );
    expect(prose).to.include(`${ATTEMPTS} attempts over at least a day`);
    const [min, max] = [Math.floor(totalMs(0) / HOUR_MS), Math.ceil(totalMs(1) / HOUR_MS)];
    expect(prose).to.include(`(${min} to ${max} hours)`);
    expect(prose).to.include(`up to ${SCHEDULE.longestRetryAfterMs / HOUR_MS} hours`);
    expect(prose).to.include(`an attempt may take ${REQUEST_DEFAULTS.timeoutMs / 1000} seconds`);
    expect(prose).to.include(`at most ${REQUEST_DEFAULTS.answerBytes / 1024} KiB`);
    expect(prose).to.include(`more than ${TARGET_DEFAULTS.length} characters`);
    expect(prose).to.include(`do not answer within ${TARGET_DEFAULTS.resolveMs / 1000} seconds`);
    expect(prose).to.include(`JSON below ${RESULT_LIMIT / 1000} kB`);
  });
});
