import { expect } from "chai";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { BUSY_MS } from "../../helpers/busy.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, exchange, startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeKind, storeUrl } from "../../helpers/store/run-store.ts";
import { keysLike } from "../../helpers/store/scan.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";

const left = (answer: Answer) => Number(/r=(\d+)/.exec(String(answer.headers.ratelimit))?.[1]);

describe("the rate limit (draft-ietf-httpapi-ratelimit-headers)", () => {
  const keys = testKeys({ ann: ["submit"], bob: ["submit"] });
  let server: TestServer;

  describe("per key", () => {
    before(async () => {
      server = await startServer({ ...keys.env, RATE_LIMIT: "3/1h" });
    });
    after(() => server.stop());

    it("reports the quota, what is left, and when it is reset, in every response", async () => {
      const answer = await server.send("/v1/queues", { headers: keys.as("ann") });
      expect(answer.headers["ratelimit-policy"]).to.equal('"default";q=3;w=3600');
      expect(answer.headers.ratelimit).to.match(/^"default";r=2;t=3(?:600|5\d\d)$/);
    });

    it("refuses requests beyond the quota, and says when to retry (RFC 6585 §4)", async () => {
      const answers: Answer[] = [];
      for (let n = 0; n < 3; n += 1) answers.push(await server.send("/v1/queues", { headers: keys.as("ann") }));
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 429]);
      const refused = answers[2] as Answer;
      expect(refused.json).to.include({ type: "/problems/rate-limited", status: 429 });
      expect(Number(refused.headers["retry-after"])).to.be.within(1, 3600);
      expect(left(refused)).to.equal(0);
      expect(refused.headers["ratelimit-policy"]).to.equal('"default";q=3;w=3600');
    });

    it("does not count the requests of other keys, nor those for health and documentation", async () => {
      expect(left(await server.send("/v1/queues", { headers: keys.as("bob") }))).to.equal(2);
      for (const path of ["/healthz", "/readyz", "/problems/unknown"]) {
        const answer = await server.send(path, { headers: keys.as("ann") });
        expect([answer.status, answer.headers.ratelimit], path).to.deep.equal([200, undefined]);
      }
    });

    it("counts requests without a valid key by address, which slows down the guessing of keys", async () => {
      const guess = () => server.send("/v1/queues", { headers: { Authorization: "Bearer guess" } });
      const answers = [await guess(), await guess(), await guess(), await guess()];
      expect(answers.map(({ status }) => status)).to.deep.equal([401, 401, 401, 429]);
    });

    it("counts requests that are refused for another reason first: a page of another origin, a wrong host", async () => {
      const hidden = await startServer({ ...keys.env, RATE_LIMIT: "3/1h", ALLOWED_HOSTS: "tasks.example" });
      try {
        const post = (headers: Record<string, string>) => hidden.post("default", {}, headers);
        const statuses: number[] = [];
        for (const headers of [
          { Origin: "https://evil.example", Authorization: "Bearer guess" },
          { Host: "evil.example", Authorization: "Bearer guess" },
          { "Sec-Fetch-Site": "cross-site" },
          { Origin: "https://evil.example", Authorization: "Bearer guess" },
          { Host: "evil.example" },
        ]) {
          statuses.push((await post(headers)).status);
        }
        expect(statuses).to.deep.equal([403, 421, 403, 429, 429]);
      } finally {
        await hidden.stop();
      }
    });

    it("is kept in Redis, for all processes", async () => {
      const other = await startServer({ ...keys.env, RATE_LIMIT: "3/1h", KEY_PREFIX: server.prefix });
      try {
        expect((await other.send("/v1/queues", { headers: keys.as("ann") })).status).to.equal(429);
      } finally {
        await other.stop({ keep: true });
      }
    });
  });

  describe("per address, without keys", () => {
    const from = (to: TestServer, forwarded: string, more = {}) =>
      to.send("/v1/queues", { headers: { "X-Forwarded-For": forwarded, ...more } });

    it("uses the address of the connection, whatever the headers say", async () => {
      const open = await startServer({ RATE_LIMIT: "100/1h" });
      try {
        const counts = [left(await from(open, "192.0.2.1")), left(await from(open, "192.0.2.2"))];
        expect(counts).to.deep.equal([99, 98]);
        expect(left(await open.send("/v1/queues", { headers: { Authorization: "Bearer any" } }))).to.equal(97);
      } finally {
        await open.stop();
      }
    });

    it("uses the address that a trusted proxy saw: the last of X-Forwarded-For, since the caller can send the others", async () => {
      const proxied = await startServer({ RATE_LIMIT: "100/1h", TRUST_PROXY: "true" });
      try {
        expect(left(await from(proxied, "192.0.2.1"))).to.equal(99);
        expect(left(await from(proxied, "192.0.2.2"))).to.equal(99);
        expect(left(await from(proxied, "198.51.100.9, 192.0.2.1"))).to.equal(98);
        // Some proxies add the port.
        expect(left(await from(proxied, "192.0.2.1:5678"))).to.equal(97);
        expect(left(await from(proxied, "2001:db8:1:2::1"))).to.equal(99);
        expect(left(await from(proxied, "[2001:db8:1:2::7]:5678"))).to.equal(98);
        expect(left(await from(proxied, "2001:db8:1:2::ffff"))).to.equal(97);
        expect(left(await from(proxied, "{evil} key ann"))).to.equal(99);
      } finally {
        await proxied.stop();
      }
    });
  });

  it("refuses nobody for longer than a span, although the clock of the store was set back", async () => {
    const brief = await startServer({ RATE_LIMIT: "1/1s" });
    const redis = await connectOnce(storeUrl());
    try {
      expect((await brief.send("/v1/queues")).status).to.equal(200);
      // As if the clock had been an hour ahead when the span began.
      const counts = await keysLike(redis, storedKey(`{${brief.prefix}:*}`, "sender", "*"));
      expect(counts).to.have.length(1);
      await redis.set(counts[0] ?? "", 1, "PX", 3_600_000);
      const refused = await brief.send("/v1/queues");
      expect([refused.status, refused.headers["retry-after"]]).to.deep.equal([429, "1"]);
      await eventually(async () => expect((await brief.send("/v1/queues")).status).to.equal(200));
    } finally {
      redis.disconnect();
      await brief.stop();
    }
  });

  it("is off by default", async () => {
    const open = await startServer();
    try {
      expect((await open.send("/v1/queues")).headers).not.to.have.any.keys("ratelimit", "ratelimit-policy");
    } finally {
      await open.stop();
    }
  });

  describe("without its store", () => {
    let redis: PrivateRedis;
    before(async function () {
      // The test kills this Redis; beside the embedded store there may be no redis-server.
      if (storeKind() === "embedded") this.skip();
      redis = await startRedis();
      server = await startServer({ RATE_LIMIT: "1000/1h", REDIS_URL: redis.url });
    });
    after(async () => {
      if (storeKind() === "embedded") return;
      await redis.restart();
      await server.stop();
      await redis.stop();
    });

    it("passes requests that need no store, logs this once, and answers the others with 503 within 5 s", async () => {
      await redis.stop("SIGKILL");
      const away = () => eventually(async () => (await server.send("/v1/queues")).status === 503 || false);
      await away();
      const started = performance.now();
      for (let n = 0; n < 3; n += 1) {
        const missing = await server.send("/nowhere");
        expect([missing.status, missing.headers.ratelimit]).to.deep.equal([404, undefined]);
      }
      const refused = await server.post("default", {}, { Prefer: "respond-async" });
      expect(refused.json.type).to.equal("/problems/store-unavailable");
      expect(performance.now() - started).to.be.below(5000 + BUSY_MS);
      const told = server.log.filter(({ msg }) => msg === "rate limit: could not count requests; letting all through");
      expect(told).to.have.length(1);
    });

    it("waits only briefly for a store that does not answer: with its wait included, it is 503 within 5 s", async () => {
      await redis.restart();
      await eventually(async () => !Number.isNaN(left(await server.send("/v1/queues"))));
      process.kill(redis.pid, "SIGSTOP");
      try {
        const began = performance.now();
        expect((await server.send("/nowhere")).status).to.equal(404);
        expect(performance.now() - began).to.be.below(2000 + BUSY_MS);
        const started = performance.now();
        const answer = await server.post("default", {}, { Prefer: "respond-async" });
        expect(answer.json.type).to.equal("/problems/store-unavailable");
        expect(performance.now() - started).to.be.below(5000 + BUSY_MS);
      } finally {
        await redis.stop("SIGKILL");
      }
    });

    it("counts again when the store is back", async () => {
      await redis.restart();
      await eventually(async () => !Number.isNaN(left(await exchange(new URL("/v1/queues", server.url)))));
    });
  });
});
