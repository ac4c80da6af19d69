import { expect } from "chai";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { endLeases } from "../../helpers/store/end-leases.ts";
import { eventually } from "../../shared/eventually.ts";
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
    const server = await startServer({ ROLE: "api" });
    try {
      const id = await server.enqueue("default", {});
      const body = { worker: "forgetful" };
      await eventually(async () => {
        // Takes the task whenever it may be had, and is never heard of again.
        const taken = await server.send("/v1/queues/default/leases", { method: "POST", body });
        if (taken.status === 200) await endLeases(server.prefix, "default");
        return (await server.send(`/v1/requests/${id}/status`)).json.state === "failed";
      });
      const answer = await server.send(`/v1/requests/${id}`);
      expect(code(answer)).to.deep.equal([500, "/problems/worker-lost"]);
      expect(answer.json).to.include({ id, queue: "default", state: "failed" });
      const { json } = await server.send(`/v1/requests/${id}/status`);
      expect(json.error.code).to.equal("worker-lost");
      expect((await server.send("/v1/queues/default")).json.dead).to.equal(1);
      const retried = await server.send(`/v1/requests/${id}/retry`, { method: "POST" });
      expect(retried.status).to.equal(202);
      expect(retried.json).to.include({ state: "waiting", attempt: 0, index: 0 });
    } finally {
      await server.stop();
    }
  });
});
