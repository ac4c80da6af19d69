import { createHash } from "node:crypto";
import { expect } from "chai";
import { eventually } from "../../shared/eventually.ts";
import { startGateways } from "../gateway/gateway.ts";
import { startReceiver } from "../webhooks/receiver.ts";

const KEY = `ph_${"k".repeat(40)}`;
const WRONG_KEY = `ph_${"w".repeat(40)}`;
const SIGNING_KEY = "a signing key of the test";
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const REDIS_PASSWORD = "correct-horse-battery";
const WEBHOOK_TOKEN = "receivers-own-token";
const HASH = createHash("sha256").update(KEY).digest("hex");

describe("the log", () => {
  it("contains no secret, at any level, whatever requests are sent and whatever handlers log", async () => {
    const server = await startGateways(
      `export const leaky = defineHandler({
        queue: "leaky", attempts: 1,
        run: (input, task) => {
          task.log.info({ headers: { authorization: input.authorization, cookie: input.cookie } }, "calling");
          task.log.trace("with " + input.authorization);
          throw new Error("connect ECONNREFUSED " + input.redis);
        },
      });`,
      {
        LOG_LEVEL: "trace",
        API_KEYS: `ci:admin+submit+read:${HASH}`,
        URL_SIGNING_KEY: SIGNING_KEY,
        WEBHOOK_SECRET,
        WEBHOOK_ALLOW: "127.0.0.1",
      },
    );
    const receiver = await startReceiver((n) => (n === 0 ? 500 : 204));
    const signatures: string[] = [];
    try {
      const headers = { Authorization: `Bearer ${KEY}`, Cookie: "session=cookie-of-the-caller" };
      const webhook = encodeURIComponent(`${receiver.url}?token=${WEBHOOK_TOKEN}`);
      const input = {
        authorization: "Bearer handlers-own-token",
        cookie: "session=cookie-of-the-handler",
        redis: `redis://app:${REDIS_PASSWORD}@127.0.0.1:1/0`,
      };
      const at = `/v1/queues/leaky/requests?webhook=${webhook}`;
      const answer = await server.send(at, {
        method: "POST",
        headers: { ...headers, Prefer: "respond-async" },
        body: input,
      });
      const link = String(answer.headers.location);
      const signature = /signature=([^&]+)/.exec(link)?.[1] ?? "";
      expect(signature).to.not.equal("");
      signatures.push(signature);
      await server.send(link);
      await server.send(link.replace(signature, `${signature.slice(0, -1)}x`));
      await server.send("/v1/queues", { headers: { Authorization: `Bearer ${WRONG_KEY}` } });
      const basic = Buffer.from(`admin:${KEY}`).toString("base64");
      await server.send("/dashboard", { headers: { Authorization: `Basic ${basic}` } });
      await server.send("/v1/queues/leaky/requests?webhook=http://10.0.0.1/", { method: "POST", headers, body: input });
      await receiver.count(1);
      signatures.push(...receiver.received.map((event) => String(event.headers["webhook-signature"])));
      await eventually(() => server.log.some(({ queue }) => queue === "paihao.webhooks"));
    } finally {
      await server.stop();
      await receiver.close();
    }
    const text = JSON.stringify(server.log);
    expect(text).to.include("calling").and.include("ECONNREFUSED redis://app:***@127.0.0.1:1/0");
    const secrets = [
      ...[KEY, WRONG_KEY, HASH, SIGNING_KEY, WEBHOOK_SECRET, WEBHOOK_SECRET.slice(6), REDIS_PASSWORD, WEBHOOK_TOKEN],
      ...["handlers-own-token", "cookie-of", ...signatures],
      Buffer.from(`admin:${KEY}`).toString("base64"),
    ];
    for (const secret of secrets) expect(text, secret).to.not.include(secret);
  });

  it("is not slowed down by a long path or an error that quotes its input, and keeps the beginning of each", async () => {
    const server = await startGateways(
      `export const quoting = defineHandler({
        queue: "quoting", attempts: 1, isolate: true,
        run: (input, task) => {
          task.log.info({ long: "x".repeat(250) + input.said }, "quoted");
          throw new Error("x".repeat(2040) + input.said + "a.".repeat(1000) + "://" + ":".repeat(1000));
        },
      });`,
      { URL_SIGNING_KEY: SIGNING_KEY },
    );
    try {
      const path = `/${"a.".repeat(4000)}://${":".repeat(4000)}`;
      const begun = process.cpuUsage();
      expect((await server.send(path)).status).to.equal(404);
      const answer = await server.send("/v1/queues/quoting/requests", { method: "POST", body: { said: SIGNING_KEY } });
      expect(answer.status).to.equal(500);
      expect(process.cpuUsage(begun).user / 1e6).to.be.below(5);
      await eventually(() => server.log.some(({ msg }) => msg === "the attempt failed"));
      expect(server.log.map((line) => line.path)).to.include(`${path.slice(0, 256)}…`);
    } finally {
      await server.stop();
    }
    const text = JSON.stringify(server.log);
    expect(text)
      .to.include(`${"x".repeat(250)}***`)
      .and.include(`${"x".repeat(2040)}***`);
    expect(text).to.not.include("a sig").and.to.not.include("of the test");
  });
});
