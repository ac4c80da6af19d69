import path from "node:path";
import { expect } from "chai";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { endLeases } from "../../helpers/store/end-leases.ts";
import { startRedis } from "../../shared/redis-server.ts";

const code = ({ status, json }: Answer) => [status, json.type];

describe("the contract: durability that was not reached", () => {
  it("is 503 not-durable with the id and Retry-After, for each line of a batch and in the dialects; the task is stored, and runs once", async () => {
    const redis = await startRedis({ args: ["--appendonly", "yes"] });
    let server: TestServer | undefined;
    try {
      server = await startServer({ REDIS_URL: redis.url, DURABILITY: "replica", REPLICATE: "true" });
      const submit = (headers: Record<string, string>) => server?.post("default", { n: 1 }, headers) as Promise<Answer>;
      const refused = await submit({ "X-Request-Id": "once", Prefer: "respond-async" });
      expect(code(refused)).to.deep.equal([503, "/problems/not-durable"]);
      expect(refused.json).to.include({ id: "once", queue: "default" });
      expect(refused.headers).to.include({ "x-request-id": "once", location: "/v1/requests/once" });
      // It is stored anyway, and runs once.
      const done = await server.until("once", "succeeded");
      expect(done.json.attempt).to.equal(1);
      const [verdict] = await server.batch("default", "{}");
      expect(verdict.problem).to.include({ type: "/problems/not-durable", status: 503 });
      expect(verdict.problem.id).to.match(/^[0-9a-f-]{36}$/);
      // The dialects say the same, with the id.
      const allocated = (await server.send("/api/v1/task")).json.id;
      const posted = await server.send(`/api/v1/task/${allocated}`, { method: "POST", body: {} });
      const body = { version: "default", input: {} };
      const predicted = await server.send("/replicate/v1/predictions", { method: "POST", body });
      for (const { json, headers: said } of [posted, predicted]) {
        expect(json).to.include({ type: "/problems/not-durable", queue: "default", detail: refused.json.detail });
        expect(said.location).to.equal(`/v1/requests/${json.id}`);
      }
      expect(posted.json.id).to.equal(allocated);
    } finally {
      await server?.stop({ keep: true });
      await redis.stop();
    }
  });
});

describe("the contract: a task that loses its worker too often", () => {
  it("is 500 worker-lost and dead, and can be retried", async () => {
    const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/alerts/worker");
    const server = await startServer({ ROLE: "api", HANDLERS });
    try {
      const id = await server.enqueue("blocking", 1);
      // It may lose no worker. This one is never heard of again.
      await server.send("/v1/queues/blocking/leases", { method: "POST", body: { worker: "forgetful" } });
      await endLeases(server.prefix, "blocking");
      await server.until(id, "failed");
      const answer = await server.send(`/v1/requests/${id}`);
      expect(code(answer)).to.deep.equal([500, "/problems/worker-lost"]);
      expect(answer.json).to.include({ id, queue: "blocking", state: "failed" });
      const { json } = await server.send(`/v1/requests/${id}/status`);
      expect(json.error.code).to.equal("worker-lost");
      expect((await server.send("/v1/queues/blocking")).json.dead).to.equal(1);
      const retried = await server.send(`/v1/requests/${id}/retry`, { method: "POST" });
      expect(retried.status).to.equal(202);
      expect(retried.json).to.include({ state: "waiting", attempt: 0, index: 0 });
    } finally {
      await server.stop();
    }
  });
});
